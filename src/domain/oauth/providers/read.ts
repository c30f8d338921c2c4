/** Reads the organization's OAuth providers: one, all (REST) or a window by cursor (GraphQL), newest first. */
import { z } from 'zod'
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { providerPath } from '../../values/oauth-provider.ts'
import { providers } from '../provider-access.ts'

export type ReadableProvider = Omit<OAuthProvider, 'clientSecret'>

const WITHOUT_SECRET = { omit: { clientSecret: true } } as const

export const getInput = z.object({ path: providerPath })

export const getProvider = (ctx: RequestContext, raw: RawInput): Promise<ReadableProvider> =>
  providers.get(ctx, () => parse(getInput, raw).path.provider_id, WITHOUT_SECRET)

export const listInput = z.object({})

export const listProviders = (ctx: RequestContext, raw: RawInput): Promise<ReadableProvider[]> =>
  providers.all(ctx, () => parse(listInput, raw), WITHOUT_SECRET)
