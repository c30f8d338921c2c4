/** PATCH of a token: its label, and whether it is the default of its owner's tokens at the provider. */
import { z } from 'zod'
import type { OAuthToken } from '../../../generated/prisma/client.ts'
import { NotFoundError, rejectIfAny } from '../../errors/errors.ts'
import { changedFields } from '../../parsing/changed-fields.ts'
import { optional, printable } from '../../parsing/fields.ts'
import { parse, violation } from '../../parsing/parse.ts'
import { toChange } from '../../repositories/locks.ts'
import { actorOf, requireRole } from '../../transaction/access.ts'
import { type RequestContext, type Tx, transaction } from '../../transaction/context.ts'
import { writeVerb } from '../../transaction/read-back.ts'
import { tokenPath } from '../../values/oauth-token.ts'
import { LISTED_TOKEN, type ListedToken } from './list.ts'
import { ownTokens } from './token.ts'

const isDefault = optional(z.boolean())

export const updateInput = z.object({
  path: tokenPath,
  body: z
    .object({
      label: optional(printable(128)).describe('A label that replaces the name of the account at the provider.'),
      is_default: isDefault.describe(
        'true: this token is preferred among your tokens of the provider, and the others no longer are.',
      ),
      default: isDefault.describe('An alias of `is_default`.'),
    })
    .meta({ id: 'OAuthTokenMetadata' }),
})

/** An absent or null member keeps the stored value. A call without changes writes no event. */
export const updateToken = writeVerb<ListedToken>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(updateInput, raw)
  const { workspaceId } = ownTokens(ctx)
  return transaction(ctx, async (tx) => {
    const { stored, others } = await lockWithSiblings(tx, ctx, path.token_id)
    const chosen = body.is_default ?? body.default ?? null
    if (body.default != null && body.default !== chosen)
      rejectIfAny([violation('default', 'The same as is_default: leave one of them out.')])
    const where = { id: path.token_id }
    const data = { label: body.label ?? undefined, isDefault: chosen ?? undefined }
    const changed = changedFields(stored, data)
    if (changed.length === 0) return read(tx, await tx.sql.oAuthToken.findUniqueOrThrow({ where, ...LISTED_TOKEN }))
    // First, because the unique index allows one default token per person and provider, even within a transaction.
    const formerDefaults = chosen
      ? await tx.sql.oAuthToken.updateManyAndReturn({
          where: { id: { in: others }, isDefault: true },
          data: { isDefault: false },
          select: { id: true },
        })
      : []
    const token = await tx.sql.oAuthToken.update({ where, data, ...LISTED_TOKEN })
    const updated = { workspaceId, type: 'oauth_token.updated', actor: actorOf(ctx.actor) } as const
    for (const { id } of formerDefaults) tx.emit({ ...updated, subjectId: id, changed: ['is_default'] })
    tx.emit({ ...updated, subjectId: token.id, changed })
    return read(tx, token)
  })
})

type Names = Pick<OAuthToken, 'label' | 'isDefault'>

/** Prevents two concurrent defaults. The order of ids prevents deadlocks. Throws NotFoundError. */
async function lockWithSiblings(tx: Tx, ctx: RequestContext, id: string): Promise<{ stored: Names; others: string[] }> {
  const { workspaceId, subject } = ownTokens(ctx)
  const locked = await tx.sql.$queryRaw<({ id: string } & Names)[]>`
    SELECT t.id, t.label, t.is_default AS "isDefault" FROM oauth_tokens t
    WHERE t.workspace_id = ${workspaceId}::uuid AND t.subject = ${subject} AND t.oauth_provider_id = (
      SELECT oauth_provider_id FROM oauth_tokens
      WHERE id = ${id}::uuid AND workspace_id = ${workspaceId}::uuid AND subject = ${subject})
    ORDER BY t.id ${toChange('t')}`
  const stored = locked.find((row) => row.id === id)
  if (!stored) throw new NotFoundError('OAuth token', id)
  return { stored, others: locked.filter((row) => row !== stored).map((row) => row.id) }
}
