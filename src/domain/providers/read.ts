/** Reads the organization's OAuth providers: one, all (REST), a window by cursor (GraphQL). Newest first. */
import { z } from 'zod'
import type { OAuthProvider, Prisma } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import type { RequestContext, Sql } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { newestFirst } from '../newest-first.ts'
import { cut, type Slice, type Window } from '../page.ts'
import { parse, type RawInput } from '../parse.ts'
import { namedProvider, ownProviders } from './find.ts'
import { providerPath } from './schemas.ts'

/** A provider as readers get it. */
export type ReadableProvider = Omit<OAuthProvider, 'clientSecret'>

const WITHOUT_SECRET = { clientSecret: true } as const

/** Prisma's part of a GraphQL selection. */
interface Selection {
  include?: Prisma.OAuthProviderInclude
  select?: Prisma.OAuthProviderSelect
}

export const getInput = z.object({ path: providerPath })

/** Role: viewer. Throws NotFoundError. */
export async function getProvider(ctx: RequestContext, raw: RawInput): Promise<ReadableProvider> {
  return selectProvider(ctx, raw, { omit: WITHOUT_SECRET })
}

/** For GraphQL: the same with the selection's own part. Role: viewer. Throws NotFoundError. */
export async function selectProvider<Q extends Selection | { omit: typeof WITHOUT_SECRET }>(
  ctx: RequestContext,
  raw: RawInput,
  query: Q,
): Promise<Prisma.OAuthProviderGetPayload<Q>> {
  requireRole(ctx, 'viewer')
  const { path } = parse(getInput, raw)
  const found = await ctx.db.oAuthProvider.findFirst({ ...query, where: namedProvider(ctx, path.provider_id) })
  if (!found) throw new NotFoundError('OAuth provider', path.provider_id)
  return found as Prisma.OAuthProviderGetPayload<Q>
}

/** What a write has left, in its transaction, with the selection's own part. */
export async function selectWritten<Q extends Selection>(
  sql: Sql,
  id: string,
  query: Q,
): Promise<Prisma.OAuthProviderGetPayload<Q>> {
  return (await sql.oAuthProvider.findUniqueOrThrow({ ...query, where: { id } })) as Prisma.OAuthProviderGetPayload<Q>
}

export const listInput = z.object({})

/** All of them. Role: viewer. */
export async function listProviders(ctx: RequestContext, raw: RawInput): Promise<ReadableProvider[]> {
  requireRole(ctx, 'viewer')
  parse(listInput, raw)
  return ctx.db.oAuthProvider.findMany({
    where: ownProviders(ctx),
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    omit: WITHOUT_SECRET,
  })
}

/** A window of the list for GraphQL. `query` is the selection's own part. Role: viewer. */
export async function windowProviders<Q extends Selection>(
  ctx: RequestContext,
  window: Window,
  query: Q,
): Promise<Slice<Prisma.OAuthProviderGetPayload<Q>>> {
  requireRole(ctx, 'viewer')
  const { keyset, ...page } = newestFirst(window)
  const found = await ctx.db.oAuthProvider.findMany({ ...query, where: { ...ownProviders(ctx), ...keyset }, ...page })
  return cut(window, found as Prisma.OAuthProviderGetPayload<Q>[])
}

/** Role: viewer. */
export async function countProviders(ctx: RequestContext): Promise<number> {
  requireRole(ctx, 'viewer')
  return ctx.db.oAuthProvider.count({ where: ownProviders(ctx) })
}
