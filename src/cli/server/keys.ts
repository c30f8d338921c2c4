/** `server keys create|list|revoke`: API keys, for operators of the server's machine. */
import { z } from 'zod'
import { issueKey, KEY_ROLES, type NewKey, WITHOUT_HASH } from '../../domain/keys/key.ts'
import { keyViolations, markRevoked } from '../../domain/keys/manage.ts'
import { optional, printableName, uuid } from '../../domain/parsing/fields.ts'
import { shareListener } from '../../domain/repositories/locks.ts'
import { type ReadCore, transaction } from '../../domain/transaction/context.ts'
import { COMMAND_LINE } from '../../domain/values/event-types.ts'
import { agentId as agentIdShape } from '../../domain/values/oauth-provider.ts'
import type { ApiKey, Listener } from '../../domain/values/row-types.ts'
import { command, formatTable, UsageError } from '../terminal/command.ts'
import { selectWorkspace, withCore } from './core.ts'

export const create = command({
  examples: [
    'server keys create --role deployer --name ci --expires-in-days 90',
    'server keys create --role admin --name all --organization',
  ],
  define: (command) =>
    command
      .requiredOption('--role <role>', KEY_ROLES.join(', '))
      .requiredOption('--name <name>', 'what the key is for')
      .option('--owner <owner>', 'the person or team that uses the key, shown as the author of changes')
      .option('--listener <id>', 'the listener that uses the key')
      .option('--agent <id>', 'the agent that uses the key')
      .option('--secrets-read', 'the key may read the values of secrets', false)
      .option('--expires-in-days <n>', 'when the key expires; by default never')
      .option('--organization', 'valid in every workspace', false)
      .option('--workspace <id>', 'the workspace, if there are several'),
  async work({ say }, _, values) {
    const role = z.enum(KEY_ROLES).safeParse(values.role)
    if (!role.success) throw new UsageError(`--role must be one of: ${KEY_ROLES.join(', ')}.`)
    const name = printableName.safeParse(values.name)
    if (!name.success) throw new UsageError('--name must have 1 to 128 printable characters.')
    const owner = optional(printableName).safeParse(values.owner)
    if (!owner.success) throw new UsageError('--owner must have 1 to 128 printable characters.')
    const expiresAt = expiryFromDays(values.expiresInDays)
    const { listenerId, agentId } = parseHolder(values)
    return withCore(async (core) => {
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
          secretsRead: values.secretsRead,
          listenerId,
          agentId,
          expiresAt,
          createdBy: null,
          actor: COMMAND_LINE,
        })
      })
      // stdout has only the key, for scripts
      say(`Created the key ${row.id}. Store it now; it is not shown again:`)
      return { outcome: 'done', json: { id: row.id, key: text }, text }
    })
  },
})

interface HolderOptions {
  role: string
  listener?: string
  agent?: string
  organization: boolean
  secretsRead: boolean
}

/** Reads the listener or agent that uses the key. Throws UsageError, also for options that exclude each other. */
function parseHolder(values: HolderOptions): Pick<NewKey, 'listenerId' | 'agentId'> {
  const violation = keyViolations({
    role: values.role as (typeof KEY_ROLES)[number],
    listener_id: values.listener,
    agent_id: values.agent,
    organization_wide: values.organization,
    secrets_read: values.secretsRead,
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

export const list = command({
  examples: ['server keys list', 'server keys list --json'],
  define: (command) => command,
  async work() {
    return withCore(async (core) => {
      const keys = await core.db.apiKey.findMany({
        include: { workspace: true, listener: true },
        omit: WITHOUT_HASH,
        orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
      })
      const text = formatTable([
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
      const json = keys.map((key) => ({
        id: key.id,
        prefix: key.prefix,
        name: key.name,
        owner: key.owner,
        role: key.role,
        secrets_read: key.secretsRead,
        workspace_id: key.workspaceId,
        listener_id: key.listenerId,
        agent_id: key.agentId,
        created_at: key.createdAt,
        expires_at: key.expiresAt,
        revoked_at: key.revokedAt,
        last_used_at: key.lastUsedAt,
      }))
      return { outcome: 'done', json: { keys: json }, text }
    })
  },
})

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

export const revoke = command({
  examples: ['server keys revoke 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1'],
  define: (command) => command.argument('<id>', 'an id that `server keys list` shows'),
  async work(_, [given]) {
    const id = z.uuid().safeParse(given)
    if (!id.success) throw new UsageError('ID must be an id that `server keys list` shows, not the key itself.')
    return withCore(async (core) => {
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
      return { outcome: 'done', json: { id: id.data }, text: `Revoked ${id.data}` }
    })
  },
})
