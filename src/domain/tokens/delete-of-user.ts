/** Deletes all tokens of somebody who has left, or of a key that was revoked: nobody else could (contract 1). */
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { printable } from '../fields.ts'
import { parse, type RawInput } from '../parse.ts'
import { deleteTokens } from './delete-many.ts'

export const deleteOfUserInput = z.object({
  query: z.object({
    user_id: printable(255).describe(
      'Whose: the `sub` of their JWT, the id of the key, or a `user_id` of authenticate.',
    ),
  }),
})

/**
 * Those of this workspace, unseen; they are revoked soon. Answers how many there were. Role: admin. Throws
 * ForbiddenError, ValidationError.
 */
export async function deleteTokensOfUser(ctx: RequestContext, raw: RawInput): Promise<number> {
  requireRole(ctx, 'admin')
  const { query } = parse(deleteOfUserInput, raw)
  return deleteTokens(ctx, ctx.workspace.id, Prisma.sql`subject = ${query.user_id}`)
}
