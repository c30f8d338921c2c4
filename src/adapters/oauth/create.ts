/** Opens the OAuth client and the organization's login. The first call loads their packages, because most servers and commands make none. */
import type { Login } from '../../domain/ports/login.ts'
import type { OAuthClient } from '../../domain/ports/oauth-client.ts'
import type { Config } from '../../platform/config/config.ts'
import { addressRefusal, type OutboundRules } from '../../platform/http/outbound-address.ts'
import type { LoginSettings } from './login.ts'

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

export function createLazyLogin(config: Config): Login | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = config
  if (!issuer || !clientId) return null
  const settings: LoginSettings = {
    issuer,
    clientId,
    clientSecret: config.OIDC_CLIENT_SECRET ?? null,
    scopes: config.OIDC_SCOPES,
    name: config.OIDC_NAME ?? null,
  }
  let loading: Promise<Login> | null = null
  const login = () => {
    loading ??= import('./login.ts').then(({ createLogin }) => createLogin(settings))
    return loading
  }
  return {
    name: settings.name ?? new URL(issuer).host,
    authorizationUrl: async (...args) => (await login()).authorizationUrl(...args),
    claims: async (...args) => (await login()).claims(...args),
    prepare: async () => (await login()).prepare(),
  }
}
