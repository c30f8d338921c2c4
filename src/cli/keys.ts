/** `keys create`, `keys list`, `keys revoke`: API keys, by whoever may run commands on the server's machine. */
import { z } from 'zod'
import { transaction } from '../domain/context.ts'
import { printableName } from '../domain/fields.ts'
import { issueKey, KEY_ROLES, WITHOUT_HASH } from '../domain/keys/issue.ts'
import { markRevoked } from '../domain/keys/revoke.ts'
import type { ApiKey } from '../generated/prisma/client.ts'
import { type Command, printTable, readOptions, theWorkspace, UsageError, withCore } from './command.ts'

export const createKeys: Command = {
  usage:
    '--role viewer|deployer|admin --name NAME [--secrets-read] [--expires-in-days N] [--organization] [--workspace ID]',
  summary: 'makes an API key and prints it, once; --organization: valid in every workspace',
  async run(args) {
    const { values } = readOptions(args, {
      role: { type: 'string' },
      name: { type: 'string' },
      'secrets-read': { type: 'boolean', default: false },
      'expires-in-days': { type: 'string' },
      organization: { type: 'boolean', default: false },
      workspace: { type: 'string' },
    })
    const role = z.enum(KEY_ROLES).safeParse(values.role)
    if (!role.success) throw new UsageError(`--role must be one of: ${KEY_ROLES.join(', ')}.`)
    const name = printableName.safeParse(values.name)
    if (!name.success) throw new UsageError('--name must have 1 to 128 printable characters.')
    const expiresAt = inDays(values['expires-in-days'])
    await withCore(async (core) => {
      const workspace = await theWorkspace(core, values.workspace)
      const { row, text } = await transaction(core, (tx) =>
        issueKey(tx, {
          organizationId: workspace.organizationId,
          workspaceId: workspace.id,
          organizationWide: values.organization,
          name: name.data,
          role: role.data,
          secretsRead: values['secrets-read'],
          expiresAt,
          createdBy: null,
        }),
      )
      // the key alone on stdout, so that a script can take it
      process.stderr.write(`Key ${row.id}; it is shown this once:\n`)
      process.stdout.write(`${text}\n`)
    })
  },
}

function inDays(text: string | undefined): Date | null {
  if (text === undefined) return null
  const days = Number(text)
  if (!(days > 0 && days <= 36_500)) throw new UsageError('--expires-in-days must be a number above 0, at most 36500.')
  return new Date(Date.now() + days * 86_400_000)
}

export const listKeys: Command = {
  usage: '',
  summary: 'lists the API keys of all workspaces, revoked ones too',
  async run(args) {
    readOptions(args, {})
    await withCore(async (core) => {
      const keys = await core.db.apiKey.findMany({
        include: { workspace: true },
        omit: WITHOUT_HASH,
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      })
      printTable([
        ['ID', 'KEY', 'ROLE', 'WORKSPACE', 'STATE', 'LAST USED', 'NAME'],
        ...keys.map((key) => [
          key.id,
          `${key.prefix}…`,
          key.secretsRead ? `${key.role} +secrets` : key.role,
          key.workspace?.name ?? '(all)',
          stateOf(key),
          key.lastUsedAt?.toISOString() ?? '-',
          key.name,
        ]),
      ])
    })
  },
}

function stateOf({ revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>): string {
  if (revokedAt) return 'revoked'
  if (!expiresAt) return 'valid'
  return `${expiresAt > new Date() ? 'valid until' : 'expired'} ${expiresAt.toISOString()}`
}

export const revokeKeys: Command = {
  usage: 'ID',
  summary: 'revokes an API key; running servers refuse it at once',
  async run(args) {
    const { positionals } = readOptions(args, {}, 1)
    const id = z.uuid().safeParse(positionals[0])
    if (!id.success) throw new UsageError('The ID must be that of `keys list`, not the key itself.')
    await withCore(async (core) => {
      await transaction(core, async (tx) => {
        const key = await tx.sql.apiKey.findUnique({ where: { id: id.data }, omit: WITHOUT_HASH })
        if (!key) throw new UsageError(`There is no API key ${id.data}.`)
        // an organization-wide key is in no workspace; its revocation goes into the log of the oldest
        const workspaceId =
          key.workspaceId ??
          (
            await tx.sql.workspace.findFirstOrThrow({
              where: { organizationId: key.organizationId },
              orderBy: { createdAt: 'asc' },
            })
          ).id
        await markRevoked(tx, key, { workspaceId, actor: null })
      })
      process.stdout.write(`Revoked ${id.data}\n`)
    })
  },
}
