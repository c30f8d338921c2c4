/** Opens the OAuth client. The first call loads its packages, because most servers and commands make none. */
import type { OAuthClient } from '../../domain/ports/oauth-client.ts'
import { addressRefusal, type OutboundRules } from '../../platform/http/outbound-address.ts'

export function createOAuthClient(rules: OutboundRules): OAuthClient {
  let loading: Promise<OAuthClient> | null = null
  const client = () => {
    loading ??= import('./client.ts').then(({ createOAuthClient }) => createOAuthClient(rules))
    return loading
  }
  return {
    refusal: (url) => addressRefusal(rules, url),
    codeVerifier: async () => (await client()).codeVerifier(),
    authorizationUrl: async (...args) => (await client()).authorizationUrl(...args),
    exchange: async (...args) => (await client()).exchange(...args),
    refresh: async (...args) => (await client()).refresh(...args),
    revoke: async (...args) => (await client()).revoke(...args),
    published: async (...args) => (await client()).published(...args),
    userinfo: async (...args) => (await client()).userinfo(...args),
    registerForMcp: async (...args) => (await client()).registerForMcp(...args),
  }
}
