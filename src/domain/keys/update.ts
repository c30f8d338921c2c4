/** Changes the owner of an API key. Events show the owner as author of the key's calls. */
import { z } from 'zod'
import { ForbiddenError, NotFoundError } from '../errors/errors.ts'
import { printableName, uuid } from '../parsing/fields.ts'
import { parse } from '../parsing/parse.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import { type RequestContext, type Tx, transaction } from '../transaction/context.ts'
import { writeVerb } from '../transaction/read-back.ts'
import { type KeyView, WITHOUT_HASH } from './issue.ts'
import { visibleKeys } from './list.ts'

export const updateInput = z.object({
  path: z.object({ api_key_id: uuid }),
  body: z.object({
    owner: printableName.describe('The person or team that uses the key.'),
  }),
})

/** Role: admin; viewer for a key that sets its own missing owner. Other servers show the new owner within seconds. */
export const updateKey = writeVerb<KeyView>(async (ctx, raw, read) => {
  requireRole(ctx, 'viewer')
  const { path, body } = parse(updateInput, raw)
  const id = path.api_key_id
  const isOwn = ctx.actor.kind === 'api_key' && ctx.actor.subject === id
  if (!isOwn) requireRole(ctx, 'admin')
  const row = await transaction(ctx, async (tx) => {
    const where = { id, AND: visibleKeys(ctx) }
    const found = await tx.sql.apiKey.findFirst({ where, omit: WITHOUT_HASH })
    if (!found) throw new NotFoundError('API key', id)
    if (found.owner === body.owner) return read(tx, found)
    if (isOwn && found.owner === null) return read(tx, await write(ctx, tx, found, body.owner))
    requireRole(ctx, 'admin')
    if (found.workspaceId === null && ctx.actor.workspaceId !== null)
      throw new ForbiddenError('Only an organization-wide credential can change an organization-wide key.')
    return read(tx, await write(ctx, tx, found, body.owner))
  })
  ctx.onKeyRenamed?.(id)
  return row
})

async function write(ctx: RequestContext, tx: Tx, { id }: KeyView, owner: string): Promise<KeyView> {
  tx.emit({
    workspaceId: ctx.workspace.id,
    type: 'api_key.updated',
    subjectId: id,
    changed: ['owner'],
    actor: actorOf(ctx.actor),
  })
  return tx.sql.apiKey.update({ where: { id }, data: { owner }, omit: WITHOUT_HASH })
}
