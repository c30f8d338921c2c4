/** Connections of agents to the caller's tokens: with one, the agent gets the access token (docs/oauth.md#rules). */
import { z } from 'zod'
import type { AgentConnection, Prisma } from '../../../generated/prisma/client.ts'
import { ConflictError, NotFoundError } from '../../errors/errors.ts'
import { uuid } from '../../parsing/fields.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { toChange } from '../../repositories/locks.ts'
import { eventBy, requireRole, tenant } from '../../transaction/access.ts'
import { type ReadContext, type RequestContext, type Tx, transaction } from '../../transaction/context.ts'
import { once, writeVerb } from '../../transaction/once.ts'
import { resource } from '../../transaction/resource.ts'
import { agentId } from '../../values/oauth-provider.ts'
import { ownTokens, tokenStatus } from './token.ts'

const agentPath = z.object({ agent_id: agentId })

/** A caller sees the connections of their own tokens. */
function ownConnections(ctx: ReadContext) {
  return { ...tenant(ctx), token: ownTokens(ctx) } satisfies Prisma.AgentConnectionWhereInput
}

/** The token's fields that REST shows, without the secret content. */
const WITH_TOKEN = {
  token: {
    select: {
      scopes: true,
      label: true,
      accountLabel: true,
      expiresAt: true,
      provider: { select: { providerId: true } },
    },
  },
} as const satisfies Prisma.AgentConnectionInclude

export type ConnectionView = Prisma.AgentConnectionGetPayload<{ include: typeof WITH_TOKEN }>

/** `subject`: the person or key that connects them. */
export type NewConnection = Record<'workspaceId' | 'agentId' | 'tokenId' | 'subject', string>

/** Returns an existing connection as well. The caller has checked that the token belongs to workspace and subject. */
export async function connectAgent(tx: Tx, connection: NewConnection): Promise<AgentConnection> {
  const { subject, ...key } = connection
  const [made] = await tx.sql.agentConnection.createManyAndReturn({
    data: [{ ...key, createdBy: subject }],
    skipDuplicates: true,
  })
  if (!made) return tx.sql.agentConnection.findFirstOrThrow({ where: key })
  tx.emit({ workspaceId: key.workspaceId, type: 'connection.created', subjectId: made.id, actor: { id: subject } })
  return made
}

export const connections = resource<AgentConnection>({
  name: 'Connection',
  table: (sql) => sql.agentConnection,
  visible: ownConnections,
})

export const listInput = z.object({ path: agentPath })

export const listConnections = (ctx: RequestContext, raw: RawInput): Promise<ConnectionView[]> =>
  connections.all(ctx, () => ofAgent(parse(listInput, raw)), { include: WITH_TOKEN }) as Promise<ConnectionView[]>

const filterInput = z.object({ path: z.object({ agent_id: agentId.nullish() }) })

/** The filter of GraphQL's list. Without an agent: the connections of all agents. */
export const connectionsOfAgent = (raw: RawInput) => () => ofAgent(parse(filterInput, raw))

const ofAgent = ({ path }: z.output<typeof filterInput>) => ({ agentId: path.agent_id ?? undefined })

const createConnectionBody = z
  .object({ oauth_token_id: uuid.describe('The id of one of your own tokens.') })
  .meta({ id: 'CreateConnection' })

export const createInput = z.object({ path: agentPath, body: createConnectionBody })

/** Returns an existing connection as well. Throws NotFoundError for another user's token; ConflictError (TOKEN_EXPIRED). */
export const createConnection = writeVerb<ConnectionView>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(createInput, raw)
  return transaction(ctx, async (tx) => {
    const tokenId = body.oauth_token_id
    await lockActiveToken(tx, ctx, tokenId)
    const { subject } = ctx.actor
    const { id } = await connectAgent(tx, { workspaceId: ctx.workspace.id, agentId: path.agent_id, tokenId, subject })
    return read(tx, await tx.sql.agentConnection.findUniqueOrThrow({ where: { id }, include: WITH_TOKEN }))
  })
})

interface LockedToken {
  endedAt: Date | null
  expiresAt: Date | null
  refreshable: boolean
  provider: string
}

/** Locks the token until the commit, so neither it nor its connections are deleted. */
async function lockActiveToken(tx: Tx, ctx: ReadContext, id: string): Promise<void> {
  const [token] = await tx.sql.$queryRaw<LockedToken[]>`
    SELECT t.ended_at AS "endedAt", t.expires_at AS "expiresAt", t.refreshable, p.name AS provider
    FROM oauth_tokens t JOIN oauth_providers p ON p.id = t.oauth_provider_id
    WHERE t.id = ${id}::uuid AND t.workspace_id = ${ctx.workspace.id}::uuid AND t.subject = ${ctx.actor.subject}
    ${toChange('t')}`
  if (!token) throw new NotFoundError('OAuth token', id)
  if (tokenStatus(token, ctx.clock()) === 'EXPIRED')
    throw new ConflictError(`The token of '${token.provider}' has expired: authenticate again.`, 'TOKEN_EXPIRED')
}

export const deleteInput = z.object({ path: agentPath.extend({ connection_id: uuid }) })

/** Role: deployer. Throws NotFoundError, also for a connection of another agent or user. */
export const deleteConnection = once<void>(async (ctx, raw) => {
  requireRole(ctx, 'deployer')
  const { path } = parse(deleteInput, raw)
  const { workspace, actor } = ctx
  await transaction(ctx, async (tx) => {
    // The lock makes a concurrent `createConnection` either find this connection or make a new one.
    const deleted = await tx.sql.$executeRaw`
      WITH own AS (
        SELECT c.id FROM agent_connections c JOIN oauth_tokens t ON t.id = c.token_id
        WHERE c.id = ${path.connection_id}::uuid AND c.agent_id = ${path.agent_id}
          AND c.workspace_id = ${workspace.id}::uuid AND t.workspace_id = c.workspace_id AND t.subject = ${actor.subject}
        ${toChange('t')}
      )
      DELETE FROM agent_connections USING own WHERE agent_connections.id = own.id`
    if (deleted === 0) throw new NotFoundError('Connection', path.connection_id)
    tx.emit({ ...eventBy(ctx), type: 'connection.deleted', subjectId: path.connection_id })
  })
})
