/** `keys create`, `keys list`, `keys revoke`: API keys, for operators of the server's machine. */
import { z } from 'zod'
import { issueKey, KEY_ROLES, type NewKey, WITHOUT_HASH } from '../domain/keys/key.ts'
import { keyViolations, markRevoked } from '../domain/keys/manage.ts'
import { optional, printableName, uuid } from '../domain/parsing/fields.ts'
import { shareListener } from '../domain/repositories/locks.ts'
import { type ReadCore, transaction } from '../domain/transaction/context.ts'
import { COMMAND_LINE } from '../domain/values/event-types.ts'
import { agentId as agentIdShape } from '../domain/values/oauth-provider.ts'
import type { ApiKey, Listener } from '../domain/values/row-types.ts'
import { selectWorkspace, withCore } from './core.ts'
import { type Command, printTable, readOptions, UsageError } from './terminal/command.ts'

export const createKeys: Command = {
  usage:
    '--role viewer|deployer|admin|listener|agent|builder --name NAME [--owner OWNER] [--listener ID] [--agent ID] [--secrets-read] [--expires-in-days N] [--organization] [--workspace ID]',
  summary:
    'creates an API key and prints it once; --organization: valid in every workspace; --listener, --agent: the listener or agent that uses the key; --owner: the person or team that uses the key, shown as the author of changes',
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
    const expiresAt = expiryFromDays(values['expires-in-days'])
    const { listenerId, agentId } = parseHolder(values)
    await withCore(async (core) => {
      const workspace = await selectWorkspace(
        core,
        values.workspace ??
          (values.organization ? await eventWorkspace(core) : await listenerWorkspace(core, listenerId)),
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
      // stdout has only the key, for scripts
      process.stderr.write(`Created the key ${row.id}. Store it now; it is not shown again:\n`)
      process.stdout.write(`${text}\n`)
    })
  },
}

/** Reads the listener or agent that uses the key. Throws UsageError, also for options that exclude each other. */
function parseHolder(values: Record<string, string | boolean | undefined>): Pick<NewKey, 'listenerId' | 'agentId'> {
  const violation = keyViolations({
    role: values.role as (typeof KEY_ROLES)[number],
    listener_id: values.listener as string | undefined,
    agent_id: values.agent as string | undefined,
    organization_wide: values.organization as boolean,
    secrets_read: values['secrets-read'] as boolean,
  })[0]
  if (violation) throw new UsageError(`${OPTION_OF_FIELD[String(violation.loc[1])]}: ${violation.msg}`)
  const listener = optional(uuid).safeParse(values.listener)
  if (!listener.success)
    throw new UsageError('--listener must be the ID of a listener. GET /v2/listeners shows the ids.')
  const agent = optional(agentIdShape).safeParse(values.agent)
  if (!agent.success) throw new UsageError('--agent must have 1 to 255 printable characters.')
  return { listenerId: listener.data, agentId: agent.data }
}

const OPTION_OF_FIELD: Record<string, string> = {
  listener_id: '--listener',
  agent_id: '--agent',
  organization_wide: '--organization',
  secrets_read: '--secrets-read',
}

/**
 * Returns the workspace whose event log records an organization-wide key: the oldest. Undefined with several organizations, because
 * then the caller must choose.
 */
async function eventWorkspace(core: ReadCore): Promise<string | undefined> {
  const [oldest, ...others] = await core.db.workspace.findMany({ orderBy: { createdAt: 'asc' } })
  return others.every((other) => other.organizationId === oldest?.organizationId) ? oldest?.id : undefined
}

async function listenerWorkspace(core: ReadCore, listenerId?: string | null): Promise<string | undefined> {
  if (listenerId == null) return undefined
  const listener = await core.db.listener.findUnique({ where: { id: listenerId } })
  if (!listener) throw new UsageError(`There is no listener ${listenerId}.`)
  return listener.workspaceId
}

function expiryFromDays(text: string | undefined): Date | null {
  if (text === undefined) return null
  const days = Number(text)
  if (!(days > 0 && days <= 36_500))
    throw new UsageError('--expires-in-days must be a number greater than 0 and at most 36500.')
  return new Date(Date.now() + days * 86_400_000)
}

export const listKeys: Command = {
  usage: '',
  summary: 'lists the API keys of all workspaces, including revoked keys',
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
          formatRole(key),
          key.workspace?.name ?? '(all)',
          formatState(key),
          key.lastUsedAt?.toISOString() ?? '-',
          key.owner ?? '-',
          key.name,
        ]),
      ])
    })
  },
}

function formatRole({
  role,
  secretsRead,
  listener,
  agentId,
}: Pick<ApiKey, 'role' | 'secretsRead' | 'agentId'> & { listener: Listener | null }): string {
  if (secretsRead) return `${role} +secrets`
  const holder = listener?.computeId ?? agentId
  return holder === null ? role : `${role} of ${holder}`
}

function formatState({ revokedAt, expiresAt }: Pick<ApiKey, 'revokedAt' | 'expiresAt'>): string {
  if (revokedAt) return 'revoked'
  if (!expiresAt) return 'valid'
  return `${expiresAt > new Date() ? 'valid until' : 'expired'} ${expiresAt.toISOString()}`
}

export const revokeKeys: Command = {
  usage: 'ID',
  summary: 'revokes an API key; running servers refuse it immediately',
  async run(args) {
    const { positionals } = readOptions(args, {}, 1)
    const id = z.uuid().safeParse(positionals[0])
    if (!id.success) throw new UsageError('ID must be an id that `keys list` shows, not the key itself.')
    await withCore(async (core) => {
      await transaction(core, async (tx) => {
        const key = await tx.sql.apiKey.findUnique({ where: { id: id.data }, omit: WITHOUT_HASH })
        if (!key) throw new UsageError(`There is no API key ${id.data}.`)
        // an organization-wide key has no workspace; the oldest workspace's event log records its revocation
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
