/** Lists a person's tokens, and reads one: their own of the workspace and nobody else's, never what is in them. */
import { z } from 'zod'
import type { Prisma } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import type { RequestContext, Sql } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { queryText } from '../fields.ts'
import { newestFirst } from '../newest-first.ts'
import { cut, type Slice, type Window } from '../page.ts'
import { parse, type RawInput } from '../parse.ts'
import { namedProvider } from '../providers/find.ts'
import { ownTokens } from './own.ts'
import { tokenPath } from './schemas.ts'
import { type TokenView, WITHOUT_CONTENT } from './token.ts'

/** Prisma's part of a GraphQL selection; never without `select`, or it would bring the content along. */
interface Selection {
  include?: Prisma.OAuthTokenInclude
  select?: Prisma.OAuthTokenSelect
}

/** As REST shows it. */
export type ListedToken = TokenView & { provider: { providerId: string } }

/** What look-ups of a ListedToken ask for. */
export const LISTED = {
  omit: WITHOUT_CONTENT,
  include: { provider: { select: { providerId: true } } },
} as const satisfies Prisma.OAuthTokenDefaultArgs

export const listInput = z.object({
  query: z.object({
    provider_id: queryText.describe('Only those of this OAuth provider: its `provider_id`, or its id.'),
  }),
})

/** Newest first. Of a provider that there is not there are none. Role: viewer. */
export async function listTokens(ctx: RequestContext, raw: RawInput): Promise<ListedToken[]> {
  requireRole(ctx, 'viewer')
  return ctx.db.oAuthToken.findMany({
    where: listed(ctx, raw),
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    ...LISTED,
  })
}

/** A window of the same list, for GraphQL. `query` is the selection's own part. Role: viewer. */
export async function windowTokens<Q extends Selection>(
  ctx: RequestContext,
  raw: RawInput,
  window: Window,
  query: Q,
): Promise<Slice<Prisma.OAuthTokenGetPayload<Q>>> {
  requireRole(ctx, 'viewer')
  const { keyset, ...page } = newestFirst(window)
  const found = await ctx.db.oAuthToken.findMany({ ...query, where: { ...listed(ctx, raw), ...keyset }, ...page })
  return cut(window, found as Prisma.OAuthTokenGetPayload<Q>[])
}

/** Role: viewer. */
export async function countTokens(ctx: RequestContext, raw: RawInput): Promise<number> {
  requireRole(ctx, 'viewer')
  return ctx.db.oAuthToken.count({ where: listed(ctx, raw) })
}

function listed(ctx: RequestContext, raw: RawInput): Prisma.OAuthTokenWhereInput {
  const { provider_id: name } = parse(listInput, raw).query
  return name === undefined ? ownTokens(ctx) : { ...ownTokens(ctx), provider: namedProvider(ctx, name) }
}

const getInput = z.object({ path: tokenPath })

/** For GraphQL: one token with the selection's own part. Role: viewer. Throws NotFoundError. */
export async function selectToken<Q extends Selection>(
  ctx: RequestContext,
  raw: RawInput,
  query: Q,
): Promise<Prisma.OAuthTokenGetPayload<Q>> {
  requireRole(ctx, 'viewer')
  const { path } = parse(getInput, raw)
  const found = await ctx.db.oAuthToken.findFirst({ ...query, where: { id: path.token_id, ...ownTokens(ctx) } })
  if (!found) throw new NotFoundError('OAuth token', path.token_id)
  return found as Prisma.OAuthTokenGetPayload<Q>
}

/** What a write has left, in its transaction, with the selection's own part. */
export async function selectWritten<Q extends Selection>(
  sql: Sql,
  id: string,
  query: Q,
): Promise<Prisma.OAuthTokenGetPayload<Q>> {
  return (await sql.oAuthToken.findUniqueOrThrow({ ...query, where: { id } })) as Prisma.OAuthTokenGetPayload<Q>
}
