/** The caller's own tokens of the workspace. Secret content is never read. */
import { z } from 'zod'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { queryText } from '../../parsing/fields.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { resource } from '../../transaction/resource.ts'
import { ownProviders, whereProviderName } from '../provider-access.ts'
import { ownTokens, type TokenView, WITHOUT_CONTENT } from './token.ts'

/** A selection must leave out the secret content. */
export const tokens = resource<TokenView>({
  name: 'OAuth token',
  table: (sql) => sql.oAuthToken,
  visible: ownTokens,
})

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

export const listTokens = (ctx: RequestContext, raw: RawInput): Promise<ListedToken[]> =>
  tokens.all(ctx, tokensOfProvider(ctx, raw), LISTED_TOKEN) as Promise<ListedToken[]>

/** The filter of the list. */
export const tokensOfProvider = (ctx: RequestContext, raw: RawInput) => (): Prisma.OAuthTokenWhereInput => {
  const { provider_id: name } = parse(listInput, raw).query
  return name === undefined ? {} : { provider: { ...ownProviders(ctx), ...whereProviderName(name) } }
}
