/** PATCH of a token's metadata: the name its owner gives it, and whether it is the one that is taken of several. */
import { z } from 'zod'
import type { OAuthToken } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import { changesAnything } from '../changes.ts'
import { type RequestContext, type Tx, transaction } from '../context.ts'
import { NotFoundError, rejectIfAny } from '../errors.ts'
import { optional, printable } from '../fields.ts'
import { parse, type RawInput, violation } from '../parse.ts'
import { asWritten, type ReadBack } from '../written.ts'
import { LISTED, type ListedToken } from './list.ts'
import { ownTokens } from './own.ts'
import { tokenPath } from './schemas.ts'

const isDefault = optional(z.boolean())

export const relabelInput = z.object({
  path: tokenPath,
  body: z
    .object({
      label: optional(printable(128)).describe('Shown instead of what the provider calls the account.'),
      is_default: isDefault.describe('true: taken where you have several tokens of the provider; the others are not.'),
      default: isDefault.describe('The same as `is_default`.'),
    })
    .meta({ id: 'OAuthTokenMetadata' }),
})

/**
 * An absent or null member keeps what is stored; what changes nothing leaves no trace. Answers the token as REST
 * shows it, or what `read` reads in its transaction. Role: deployer. Throws
 * ValidationError, NotFoundError.
 */
export function relabelToken(ctx: RequestContext, raw: RawInput): Promise<ListedToken>
export function relabelToken<T>(ctx: RequestContext, raw: RawInput, read: ReadBack<ListedToken, T>): Promise<T>
export async function relabelToken(
  ctx: RequestContext,
  raw: RawInput,
  read: ReadBack<ListedToken, unknown> = asWritten,
): Promise<unknown> {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(relabelInput, raw)
  const { workspaceId, subject: actor } = ownTokens(ctx)
  return transaction(ctx, async (tx) => {
    const { stored, others } = await lockWithSiblings(tx, ctx, path.token_id)
    const chosen = body.is_default ?? body.default ?? null
    if (body.default != null && body.default !== chosen)
      rejectIfAny([violation('default', 'The same as is_default: leave one of them out.')])
    const where = { id: path.token_id }
    const data = { label: body.label ?? undefined, isDefault: chosen ?? undefined }
    if (!changesAnything(stored, data))
      return read(tx.sql, await tx.sql.oAuthToken.findUniqueOrThrow({ where, ...LISTED }))
    // first: of a person's tokens of a provider one is the default at most, also within the transaction
    const ousted = chosen
      ? await tx.sql.oAuthToken.updateManyAndReturn({
          where: { id: { in: others }, isDefault: true },
          data: { isDefault: false },
          select: { id: true },
        })
      : []
    const token = await tx.sql.oAuthToken.update({ where, data, ...LISTED })
    for (const { id } of [...ousted, token]) tx.emit({ workspaceId, type: 'oauth_token.updated', subjectId: id, actor })
    return read(tx.sql, token)
  })
}

type Names = Pick<OAuthToken, 'label' | 'isDefault'>

/**
 * Locks a token of the caller's, and those of the same provider, whose ids it returns, too: two that become the default
 * at once come one after the other. In the order of their ids, or they would wait for each other. Throws NotFoundError.
 */
async function lockWithSiblings(tx: Tx, ctx: RequestContext, id: string): Promise<{ stored: Names; others: string[] }> {
  const { workspaceId, subject } = ownTokens(ctx)
  const locked = await tx.sql.$queryRaw<({ id: string } & Names)[]>`
    SELECT t.id, t.label, t.is_default AS "isDefault" FROM oauth_tokens t
    WHERE t.workspace_id = ${workspaceId}::uuid AND t.subject = ${subject} AND t.oauth_provider_id = (
      SELECT oauth_provider_id FROM oauth_tokens
      WHERE id = ${id}::uuid AND workspace_id = ${workspaceId}::uuid AND subject = ${subject})
    ORDER BY t.id FOR NO KEY UPDATE OF t`
  const stored = locked.find((row) => row.id === id)
  if (!stored) throw new NotFoundError('OAuth token', id)
  return { stored, others: locked.filter((row) => row !== stored).map((row) => row.id) }
}
