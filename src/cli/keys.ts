/** `keys create`, `keys list`, `keys revoke`: API keys, by whoever may run commands on the server's machine. */
import { z } from 'zod'
import { issueKey, KEY_ROLES, type NewKey, WITHOUT_HASH } from '../domain/keys/issue.ts'
import { markRevoked } from '../domain/keys/revoke.ts'
import { keyViolations } from '../domain/keys/rules.ts'
import { optional, printableName, uuid } from '../domain/parsing/fields.ts'
import { shareListener } from '../domain/repositories/locks.ts'
import { type Core, transaction } from '../domain/transaction/context.ts'
import { COMMAND_LINE } from '../domain/values/event-actor.ts'
import { agentId as agentIdShape } from '../domain/values/oauth-token.ts'
import type { ApiKey, Listener } from '../domain/values/row-types.ts'
import { theWorkspace, withCore } from './core.ts'
import { type Command, printTable, readOptions, UsageError } from './terminal/command.ts'

export const createKeys: Command = {
  usage:
    '--role viewer|deployer|admin|listener|agent|builder --name NAME [--owner OWNER] [--listener ID] [--agent ID] [--secrets-read] [--expires-in-days N] [--organization] [--workspace ID]',
  summary:
    'makes an API key and prints it, once; --organization: valid in every workspace; --listener, --agent: the one that a listener’s or an agent’s key is for; --owner: the person or team that uses it, shown as the author',
  async run(args) {
    const { values } = readOptions(args, {
      role: { type: 'string' },
      name: { type: 'string' },
      owner: { type: 'string' },
      listener: { type: 'string' },
      agent: { type: 'string' },
      'secrets-read': { type: 'boolean', default: false },
      'expires-in-days': { type: 'string' },
      organization: { type: 'boolean', default: false },
      workspace: { type: 'string' },
    })
    const role = z.enum(KEY_ROLES).safeParse(values.role)
    if (!role.success) throw new UsageError(`--role must be one of: ${KEY_ROLES.join(', ')}.`)
    const name = printableName.safeParse(values.name)
    if (!name.success) throw new UsageError('--name must have 1 to 128 printable characters.')
    const owner = optional(printableName).safeParse(values.owner)
    if (!owner.success) throw new UsageError('--owner must have 1 to 128 printable characters.')
    const expiresAt = inDays(values['expires-in-days'])
    const { listenerId, agentId } = holderOf(values)
    await withCore(async (core) => {
      const workspace = await theWorkspace(
        core,
        values.workspace ?? (values.organization ? await anyWorkspace(core) : await workspaceOf(core, listenerId)),
      )
      const { row, text } = await transaction(core, async (tx) => {
        if (listenerId != null) await shareListener(tx, workspace.id, listenerId)
        return issueKey(tx, {
          organizationId: workspace.organizationId,
          workspaceId: workspace.id,
          organizationWide: values.organization,
          name: name.data,
          owner: owner.data,
          role: role.data,
          secretsRead: values['secrets-read'],
          listenerId,
          agentId,
          expiresAt,
          createdBy: null,
          actor: COMMAND_LINE,
        })
      })
      // the key alone on stdout, so that a script can take it
      process.stderr.write(`Key ${row.id}; it is shown this once:\n`)
      process.stdout.write(`${text}\n`)
    })
  },
}

/** The listener or the agent that the key is for. Throws UsageError for options that don't go together. */
function holderOf(values: Record<string, string | boolean | undefined>): Pick<NewKey, 'listenerId' | 'agentId'> {
  const wrong = keyViolations({
    role: values.role as (typeof KEY_ROLES)[number],
    listener_id: values.listener as string | undefined,
    agent_id: values.agent as string | undefined,
    organization_wide: values.organization as boolean,
    secrets_read: values['secrets-read'] as boolean,
  })[0]
  if (wrong) throw new UsageError(`${OPTION[String(wrong.loc[1])]}: ${wrong.msg}`)
  const listener = optional(uuid).safeParse(values.listener)
  if (!listener.success) throw new UsageError('--listener must be the ID of a listener, as GET /v2/listeners shows it.')
  const agent = optional(agentIdShape).safeParse(values.agent)
  if (!agent.success) throw new UsageError('--agent must have 1 to 255 printable characters.')
  return { listenerId: listener.data, agentId: agent.data }
}

const OPTION: Record<string, string> = {
  listener_id: '--listener',
  agent_id: '--agent',
  organization_wide: '--organization',
  secrets_read: '--secrets-read',
}

/**
 * For a key of all workspaces: the one whose log tells of it. With several organizations it must be said whose key it
 * is.
 */
async function anyWorkspace(core: Core): Promise<string | undefined> {
  const [oldest, ...others] = await core.db.workspace.findMany({ orderBy: { createdAt: 'asc' } })
  return others.every((other) => other.organizationId === oldest?.organizationId) ? oldest?.id : undefined
}

/** The listener knows its workspace: it need not be named. */
async function workspaceOf(core: Core, listenerId?: string | null): Promise<string | undefined> {
  if (listenerId == null) return undefined
  const listener = await core.db.listener.findUnique({ where: { id: listenerId } })
  if (!listener) throw new UsageError(`There is no listener ${listenerId}.`)
  return listener.workspaceId
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
        include: { workspace: true, listener: true },
        omit: WITHOUT_HASH,
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      })
      printTable([
        ['ID', 'KEY', 'ROLE', 'WORKSPACE', 'STATE', 'LAST USED', 'OWNER', 'NAME'],
        ...keys.map((key) => [
          key.id,
          `${key.prefix}…`,
          roleOf(key),
          key.workspace?.name ?? '(all)',
          stateOf(key),
          key.lastUsedAt?.toISOString() ?? '-',
          key.owner ?? '-',
          key.name,
        ]),
      ])
    })
  },
}

function roleOf({
  role,
  secretsRead,
  listener,
  agentId,
}: Pick<ApiKey, 'role' | 'secretsRead' | 'agentId'> & { listener: Listener | null }): string {
  if (secretsRead) return `${role} +secrets`
  const holder = listener?.computeId ?? agentId
  return holder === null ? role : `${role} of ${holder}`
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
        await markRevoked(tx, key, { workspaceId, actor: COMMAND_LINE })
      })
      process.stdout.write(`Revoked ${id.data}\n`)
    })
  },
}
