/** Lists the caller's own tokens of the workspace, and reads one. Secret content is never read. */
import { z } from 'zod'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { NotFoundError } from '../../errors/errors.ts'
import { newestFirst } from '../../paging/newest-first.ts'
import { cut, type Slice, type Window } from '../../paging/paging.ts'
import { queryText } from '../../parsing/fields.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { requireRole } from '../../transaction/access.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { type Selection, writtenRow } from '../../transaction/read-back.ts'
import { tokenPath } from '../../values/oauth-token.ts'
import { whereProvider } from '../provider-access.ts'
import { ownTokens, type TokenView, WITHOUT_CONTENT } from './token.ts'

export type ListedToken = TokenView & { provider: { providerId: string } }

export const LISTED_TOKEN = {
  omit: WITHOUT_CONTENT,
  include: { provider: { select: { providerId: true } } },
} as const satisfies Prisma.OAuthTokenDefaultArgs

export const listInput = z.object({
  query: z.object({
    provider_id: queryText.describe('Lists only tokens of this OAuth provider, by its `provider_id` or its id.'),
  }),
})

export async function listTokens(ctx: RequestContext, raw: RawInput): Promise<ListedToken[]> {
  requireRole(ctx, 'viewer')
  return ctx.db.oAuthToken.findMany({
    where: listWhere(ctx, raw),
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    ...LISTED_TOKEN,
  })
}

/** A window of the list, for GraphQL. `query` needs `select`, or the secret content would be read. Role: viewer. */
export async function windowTokens(
  ctx: RequestContext,
  raw: RawInput,
  window: Window,
  query: Selection,
): Promise<Slice<TokenView>> {
  requireRole(ctx, 'viewer')
  const { keyset, ...page } = newestFirst(window)
  const where = { ...listWhere(ctx, raw), ...keyset }
  return cut(window, await ctx.db.oAuthToken.findMany({ ...query, where, ...page }))
}

export async function countTokens(ctx: RequestContext, raw: RawInput): Promise<number> {
  requireRole(ctx, 'viewer')
  return ctx.db.oAuthToken.count({ where: listWhere(ctx, raw) })
}

function listWhere(ctx: RequestContext, raw: RawInput): Prisma.OAuthTokenWhereInput {
  const { provider_id: name } = parse(listInput, raw).query
  return name === undefined ? ownTokens(ctx) : { ...ownTokens(ctx), provider: whereProvider(ctx, name) }
}

const getInput = z.object({ path: tokenPath })

export async function selectToken(ctx: RequestContext, raw: RawInput, query: Selection): Promise<TokenView> {
  requireRole(ctx, 'viewer')
  const { path } = parse(getInput, raw)
  const found = await ctx.db.oAuthToken.findFirst({ ...query, where: { id: path.token_id, ...ownTokens(ctx) } })
  if (!found) throw new NotFoundError('OAuth token', path.token_id)
  return found
}

export const selectWritten = writtenRow((sql) => sql.oAuthToken)
