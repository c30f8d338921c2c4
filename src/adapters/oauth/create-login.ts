/** Opens the organization's login if one is configured. The first call loads its packages, as in create-oauth-client.ts. */
import type { Login } from '../../domain/ports/login.ts'
import type { Config } from '../../platform/config/config.ts'
import type { LoginSettings } from './login.ts'

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
