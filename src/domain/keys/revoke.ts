/** Revokes an API key: from the commit on this server refuses it, every other one as soon as it is told (auth/api-key.ts). */
import { z } from 'zod'
import { requireRole } from '../access.ts'
import { type RequestContext, type Tx, transaction } from '../context.ts'
import { ForbiddenError, NotFoundError } from '../errors.ts'
import { uuid } from '../fields.ts'
import { parse, type RawInput } from '../parse.ts'
import { type KeyView, WITHOUT_HASH } from './issue.ts'
import { visibleKeys } from './list.ts'

export const revokeInput = z.object({ path: z.object({ api_key_id: uuid }) })

/** NOTIFY channel: the key whose id is the payload is no longer good. */
export const KEY_CHANNEL = 'pilothouse_keys'

/** Role: admin. A second time changes nothing. Throws NotFoundError; ForbiddenError for an organization-wide key and a caller who is not. */
export async function revokeKey(ctx: RequestContext, raw: RawInput): Promise<KeyView> {
  requireRole(ctx, 'admin')
  const { path } = parse(revokeInput, raw)
  const id = path.api_key_id
  const row = await transaction(ctx, async (tx) => {
    const found = await tx.sql.apiKey.findFirst({ where: { id, AND: visibleKeys(ctx) }, omit: WITHOUT_HASH })
    if (!found) throw new NotFoundError('API key', id)
    if (found.workspaceId === null && ctx.actor.workspaceId !== null) {
      throw new ForbiddenError('Only an organization-wide credential can revoke an organization-wide key.')
    }
    return markRevoked(tx, found, { workspaceId: ctx.workspace.id, actor: ctx.actor.subject })
  })
  ctx.onKeyRevoked?.(id)
  return row
}

/** Writes the revocation, once, and tells every server. `log`: in whose event log it appears, and who did it. */
export async function markRevoked(
  tx: Tx,
  key: Pick<KeyView, 'id'>,
  log: { workspaceId: string; actor: string | null },
): Promise<KeyView> {
  const { count } = await tx.sql.apiKey.updateMany({
    where: { id: key.id, revokedAt: null },
    data: { revokedAt: tx.now() },
  })
  if (count > 0) {
    tx.emit({ workspaceId: log.workspaceId, type: 'api_key.revoked', subjectId: key.id, actor: log.actor })
    await tx.sql.$executeRaw`SELECT pg_notify(${KEY_CHANNEL}, ${key.id})`
  }
  return tx.sql.apiKey.findUniqueOrThrow({ where: { id: key.id }, omit: WITHOUT_HASH })
}
