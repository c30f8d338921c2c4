/** Finds out whose token it is that a provider has just issued. */
import type { OAuthProvider } from '../../generated/prisma/client.ts'
import type { Core } from '../context.ts'
import { type Account, clauseOf, type ProviderAccess, type TokenSet } from '../providers/client.ts'
import { publishedBy } from '../providers/metadata.ts'

/**
 * As the token's answer tells it; the provider is asked where that has no name for people. Null: nobody can tell. What
 * goes wrong with asking is no reason to lose the token.
 */
export async function accountOf(
  core: Core,
  provider: OAuthProvider,
  access: ProviderAccess,
  { account, accessToken }: Pick<TokenSet, 'account' | 'accessToken'>,
  scopes: readonly string[],
): Promise<Account | null> {
  const named = account && account.label !== account.id
  // without it there is nothing to be had from userinfo (OpenID Connect Core, 5.3)
  if (named || !scopes.includes('openid')) return account
  try {
    const { userinfoUrl } = await publishedBy(core, provider, access)
    const told = userinfoUrl ? await core.oauth.userinfo(access, userinfoUrl, accessToken) : null
    // an answer about somebody else must not be used (5.3.2)
    return told && (!account || told.id === account.id) ? told : account
  } catch (error) {
    core.log.warn(
      { provider: provider.providerId, failure: clauseOf(error) },
      'a provider did not tell whose token it has issued',
    )
    return account
  }
}
