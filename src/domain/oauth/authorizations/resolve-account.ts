/** Identifies the account of a newly issued token. */
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { type Account, clauseOf, type ProviderAccess, type TokenSet } from '../../ports/oauth-client.ts'
import type { Core } from '../../transaction/context.ts'
import { publishedEndpoints } from '../provider-access/access.ts'

/** Asks userinfo if the token response has no name. Its failure is only logged. Null: unknown. */
export async function resolveAccount(
  core: Core,
  provider: OAuthProvider,
  access: ProviderAccess,
  { account, accessToken }: Pick<TokenSet, 'account' | 'accessToken'>,
  scopes: readonly string[],
): Promise<Account | null> {
  const named = account && account.label !== account.id
  // userinfo requires this scope (OpenID Connect Core, 5.3)
  if (named || !scopes.includes('openid')) return account
  try {
    const { userinfoUrl } = await publishedEndpoints(core, provider, access)
    const info = userinfoUrl ? await core.oauth.userinfo(access, userinfoUrl, accessToken) : null
    // a response about another account must not be used (5.3.2)
    return info && (!account || info.id === account.id) ? info : account
  } catch (error) {
    core.log.warn(
      { provider: provider.providerId, failure: clauseOf(error) },
      'a provider did not identify the account of a new token',
    )
    return account
  }
}
