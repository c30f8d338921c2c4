/** Creates, changes and revokes API keys (README.md). */
import { z } from 'zod'
import type { Role } from '../../generated/prisma/enums.ts'
import { ForbiddenError, NotFoundError, rejectIfAny, UnauthenticatedError, type Violation } from '../errors/errors.ts'
import { optional, printableName, time, uuid } from '../parsing/fields.ts'
import { parse, type RawInput, violationUnless } from '../parsing/parse.ts'
import { shareListener } from '../repositories/locks.ts'
import { actorOf, eventBy, isRanked, requireRole } from '../transaction/access.ts'
import { type ReadContext, type RequestContext, type Tx, transaction } from '../transaction/context.ts'
import { writeVerb } from '../transaction/once.ts'
import type { ActorRef } from '../values/event-types.ts'
import { agentId } from '../values/oauth-provider.ts'
import { type IssuedKey, issueKey, KEY_ROLES, type KeyView, ownKeys, visibleKeys, WITHOUT_HASH } from './key.ts'

const createKeyBody = z
  .object({
    name: printableName,
    owner: optional(printableName).describe(
      'The person or team that uses the key. Events show it as the author. Default: `name`.',
    ),
    role: z.enum(KEY_ROLES).meta({ typeName: 'Role' }),
    listener_id: optional(uuid).describe(
      'The only listener that may use the key. Required for the role listener, and allowed only for it.',
    ),
    agent_id: optional(agentId).describe(
      'The only agent that may use the key. Required for the role agent, and allowed only for it.',
    ),
    /** may read the values of secrets; admin keys always may */
    secrets_read: optional(z.boolean()),
    expires_at: optional(time),
    /** valid in every workspace of the organization; only an organization-wide credential may set it */
    organization_wide: optional(z.boolean()),
  })
  .meta({ id: 'ApiKeyCreate' })

type KeyFields = z.output<typeof createKeyBody>

export const createInput = z.object({ body: createKeyBody })

export interface CreatedKey {
  row: KeyView
  /** the key itself, never stored; null: the response to the first call showed it */
  text: string | null
}

/** Role: admin, so no caller grants rights that they lack. Throws NotFoundError for the listener. */
export async function createKey(ctx: RequestContext, raw: RawInput): Promise<CreatedKey> {
  const issued: IssuedKey[] = []
  const row = await create(ctx, raw, async (_sql, written) => {
    issued.push(written)
    return written.row
  })
  return { row, text: issued.find((one) => one.row.id === row.id)?.text ?? null }
}

const create = writeVerb<IssuedKey>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  const { body } = parse(createInput, raw)
  const organizationWide = body.organization_wide ?? false
  if (organizationWide && ctx.actor.workspaceId !== null) {
    throw new ForbiddenError('Only an organization-wide credential can create an organization-wide key.')
  }
  const expiresAt = body.expires_at ?? null
  const violations = [
    ...violationUnless(!expiresAt || expiresAt > ctx.clock(), 'expires_at', 'Must be in the future.'),
    ...keyViolations(body),
  ]
  return transaction(ctx, async (tx) => {
    // The lock makes a concurrent deletion of the listener revoke this key too.
    if (body.listener_id != null) await shareListener(tx, ctx.workspace.id, body.listener_id)
    rejectIfAny(violations)
    const issued = await issueKey(tx, {
      organizationId: ctx.workspace.organizationId,
      workspaceId: ctx.workspace.id,
      organizationWide,
      name: body.name,
      owner: body.owner,
      role: body.role,
      secretsRead: body.secrets_read ?? false,
      listenerId: body.listener_id,
      agentId: body.agent_id,
      expiresAt,
      createdBy: ctx.actor.subject,
      actor: actorOf(ctx.actor),
    })
    return read(tx, issued)
  })
})

/** Listener and agent keys belong to one workspace. No machine key reads secrets by the API (README.md). */
export function keyViolations(key: Pick<KeyFields, 'role'> & Partial<KeyFields>): Violation[] {
  const bound = key.role === 'listener' || key.role === 'agent'
  const belongs = (role: Role, field: 'listener_id' | 'agent_id') =>
    key.role === role
      ? violationUnless(key[field] != null, field, `Required for the role ${role}.`, 'missing')
      : violationUnless(key[field] == null, field, `Only for the role ${role}.`)
  const message = `Not for the role ${key.role}.`
  return [
    ...belongs('listener', 'listener_id'),
    ...belongs('agent', 'agent_id'),
    ...violationUnless(!bound || !key.organization_wide, 'organization_wide', message),
    ...violationUnless(!key.secrets_read || isRanked(key.role), 'secrets_read', message),
  ]
}

export const updateInput = z.object({
  path: z.object({ api_key_id: uuid }),
  body: z
    .object({ owner: printableName.describe('The person or team that uses the key.') })
    .meta({ id: 'ApiKeyUpdate' }),
})

/** Role: admin; viewer for a key that sets its own missing owner. Other servers show the new owner within seconds. */
export const updateKey = writeVerb<KeyView>(async (ctx, raw, read) => {
  requireRole(ctx, 'viewer')
  const { path, body } = parse(updateInput, raw)
  const id = path.api_key_id
  const isOwn = ctx.actor.kind === 'api_key' && ctx.actor.subject === id
  if (!isOwn) requireRole(ctx, 'admin')
  const row = await transaction(ctx, async (tx) => {
    const found = await findKey(ctx, tx, id)
    const { owner } = body
    if (found.owner === owner) return read(tx, found)
    if (!isOwn || found.owner !== null) {
      requireRole(ctx, 'admin')
      refuseOrganizationWide(ctx, found, 'change')
    }
    tx.emit({ ...eventBy(ctx), type: 'api_key.updated', subjectId: id, changed: ['owner'] })
    return read(tx, await tx.sql.apiKey.update({ where: { id }, data: { owner }, omit: WITHOUT_HASH }))
  })
  ctx.onKeyRenamed?.(id)
  return row
})

async function findKey(ctx: ReadContext, tx: Tx, id: string): Promise<KeyView> {
  const found = await tx.sql.apiKey.findFirst({ where: { id, AND: visibleKeys(ctx) }, omit: WITHOUT_HASH })
  if (!found) throw new NotFoundError('API key', id)
  return found
}

function refuseOrganizationWide({ actor }: ReadContext, { workspaceId }: KeyView, what: 'change' | 'revoke'): void {
  if (workspaceId === null && actor.workspaceId !== null)
    throw new ForbiddenError(`Only an organization-wide credential can ${what} an organization-wide key.`)
}

export const revokeInput = z.object({ path: z.object({ api_key_id: uuid }) })

/** NOTIFY channel for revoked keys and ended sessions. The payload is the id. */
export const KEY_CHANNEL = 'pilothouse_keys'

/**
 * Idempotent. Role: admin; viewer for an own key. Throws NotFoundError; ForbiddenError if a workspace credential revokes an
 * organization-wide key.
 */
export const revokeKey = writeVerb<KeyView>(async (ctx, raw, read) => {
  requireRole(ctx, 'viewer')
  const { path } = parse(revokeInput, raw)
  const id = path.api_key_id
  let ended: string[] = []
  const row = await transaction(ctx, async (tx) => {
    // another caller learns nothing about the id
    const may = ctx.actor.role === 'admin' || (await tx.sql.apiKey.count({ where: { id, ...ownKeys(ctx) } })) > 0
    if (!may) requireRole(ctx, 'admin')
    const found = await findKey(ctx, tx, id)
    refuseOrganizationWide(ctx, found, 'revoke')
    ended = await markRevoked(tx, found, eventBy(ctx))
    return read(tx, await tx.sql.apiKey.findUniqueOrThrow({ where: { id }, omit: WITHOUT_HASH }))
  })
  for (const one of ended) ctx.onKeyRevoked?.(one)
  return row
})

/**
 * Stores the revocation once and notifies every server. Also revokes the keys of logins that this key approved, so they never
 * outlive it. Returns the ids of all these keys. `log`: workspace and actor of the events.
 */
export async function markRevoked(
  tx: Tx,
  key: Pick<KeyView, 'id'>,
  log: { workspaceId: string; actor: ActorRef },
): Promise<string[]> {
  const all = [{ id: key.id, workspaceId: log.workspaceId }]
  // The list grows while it is read. Each key is locked before its approvals are read: a concurrent pick-up locks it, too.
  for (const { id, workspaceId } of all) {
    const { count } = await tx.sql.apiKey.updateMany({ where: { id, revokedAt: null }, data: { revokedAt: tx.now() } })
    if (count > 0) {
      tx.emit({ workspaceId, type: 'api_key.revoked', subjectId: id, actor: log.actor })
      await tx.sql.$executeRaw`SELECT pg_notify(${KEY_CHANNEL}, ${id})`
    }
    const where = { approverKind: 'api_key', createdBy: id, revokedAt: null }
    const approved = await tx.sql.apiKey.findMany({ where, select: { id: true, workspaceId: true } })
    all.push(...approved.map((one) => ({ id: one.id, workspaceId: one.workspaceId ?? log.workspaceId })))
  }
  return all.map(({ id }) => id)
}

/** For a call that waited before it returns secrets: its key may have ended since. Throws UnauthenticatedError. */
export async function refuseRevoked(ctx: ReadContext): Promise<void> {
  const key = await ctx.db.apiKey.findUnique({ where: { id: ctx.actor.subject } })
  if (!key || key.revokedAt || (key.expiresAt && key.expiresAt <= ctx.clock()))
    throw new UnauthenticatedError('The API key is unknown, expired or revoked.')
}
