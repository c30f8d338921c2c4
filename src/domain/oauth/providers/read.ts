/** Reads the organization's OAuth providers: one, all (REST) or a window by cursor (GraphQL), newest first. */
import { z } from 'zod'
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { NotFoundError } from '../../errors/errors.ts'
import { newestFirst } from '../../paging/newest-first.ts'
import { cut, type Slice, type Window } from '../../paging/paging.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { requireRole } from '../../transaction/access.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { type Selection, writtenRow } from '../../transaction/read-back.ts'
import { providerPath } from '../../values/oauth-provider.ts'
import { ownProviders, whereProvider } from '../provider-access.ts'

export type ReadableProvider = Omit<OAuthProvider, 'clientSecret'>

const WITHOUT_SECRET = { omit: { clientSecret: true } } as const

export const getInput = z.object({ path: providerPath })

export const getProvider = (ctx: RequestContext, raw: RawInput): Promise<ReadableProvider> =>
  selectProvider(ctx, raw, WITHOUT_SECRET)

export async function selectProvider(ctx: RequestContext, raw: RawInput, query: Selection): Promise<OAuthProvider> {
  requireRole(ctx, 'viewer')
  const { path } = parse(getInput, raw)
  const found = await ctx.db.oAuthProvider.findFirst({ ...query, where: whereProvider(ctx, path.provider_id) })
  if (!found) throw new NotFoundError('OAuth provider', path.provider_id)
  return found
}

export const selectWritten = writtenRow((sql) => sql.oAuthProvider)

export const listInput = z.object({})

export async function listProviders(ctx: RequestContext, raw: RawInput): Promise<ReadableProvider[]> {
  requireRole(ctx, 'viewer')
  parse(listInput, raw)
  return ctx.db.oAuthProvider.findMany({
    where: ownProviders(ctx),
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    ...WITHOUT_SECRET,
  })
}

export async function windowProviders(
  ctx: RequestContext,
  window: Window,
  query: Selection,
): Promise<Slice<ReadableProvider>> {
  requireRole(ctx, 'viewer')
  const { keyset, ...page } = newestFirst(window)
  const where = { ...ownProviders(ctx), ...keyset }
  return cut(window, await ctx.db.oAuthProvider.findMany({ ...query, where, ...page }))
}

export async function countProviders(ctx: RequestContext): Promise<number> {
  requireRole(ctx, 'viewer')
  return ctx.db.oAuthProvider.count({ where: ownProviders(ctx) })
}
