/**
 * The organization's own login by OpenID Connect: authorization code with PKCE, nonce and state (docs/operations.md#login-by-openid-connect).
 * The provider is the operator's choice, so it may be in a private network; otherwise its calls are bounded as all others are.
 */
import * as oidc from 'openid-client'
import type { Claims, Login } from '../../domain/ports/login.ts'
import { OAuthFailure } from '../../domain/ports/oauth-client.ts'
import { basicAuthentication } from './client.ts'
import { toOAuthFailure } from './failure.ts'
import { createOutbound } from './guarded-fetch.ts'

export interface LoginSettings {
  issuer: string
  clientId: string
  /** null: the client is a public one */
  clientSecret: string | null
  /** `openid` is among them */
  scopes: readonly string[]
  /** whose login it is, for people; null: the issuer's host */
  name: string | null
}

/** ms for one answer of the provider; a login takes four of them at most. A person waits for it. */
const TIMEOUT_MS = 5_000
/** ms for which what the provider publishes is taken for current; then it is asked again, while the old is used on */
const METADATA_MAX_AGE_MS = 3_600_000
/** logins that ask the provider at once: of more, each is an error, and nobody else's matter */
const MAX_CONCURRENT_LOGINS = 32
/** Whichever network it is in. */
const ANY_NETWORK = { allow: ['0.0.0.0/0', '::/0'] }

interface CachedConfiguration {
  configuration: oidc.Configuration
  /** ms, by a clock that is not set */
  since: number
}

/** `now`: ms, by a clock that is not set. `timeoutMs`: for one answer of the provider. */
export function createLogin(
  settings: LoginSettings,
  { now = () => performance.now(), timeoutMs = TIMEOUT_MS }: { now?: () => number; timeoutMs?: number } = {},
): Login {
  const outbound = createOutbound(ANY_NETWORK)
  let known: CachedConfiguration | null = null
  let asking: Promise<oidc.Configuration> | null = null
  let atOnce = 0

  const call: oidc.CustomFetch = async (url, { method, headers, body }) => {
    const sent = body instanceof URLSearchParams || typeof body === 'string' ? body : null
    const response = await outbound.fetch(url, { method, headers, body: sent, timeoutMs })
    // it is in trouble, whatever it says: as if it had not answered
    if (response.status >= 500) throw new OAuthFailure('unanswered', `answered ${response.status}`)
    return response
  }

  async function ask(): Promise<oidc.Configuration> {
    const configuration = await oidc.discovery(new URL(settings.issuer), settings.clientId, {}, authentication(), {
      [oidc.customFetch]: call,
      // http goes to this machine alone: the guard of addresses sees to that
      execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks],
    })
    const { authorization_endpoint, token_endpoint, jwks_uri } = configuration.serverMetadata()
    if (!authorization_endpoint || !token_endpoint || !jwks_uri)
      throw new OAuthFailure('unusable', 'publishes no endpoints for logins')
    known = { configuration, since: now() }
    return configuration
  }

  /** Asked for once, however many wait for it. A provider that is away now is no matter while what it has published is known. */
  async function configuration(): Promise<oidc.Configuration> {
    if (known && now() - known.since < METADATA_MAX_AGE_MS) return known.configuration
    asking ??= ask().finally(() => {
      asking = null
    })
    if (!known) return asking
    asking.catch(() => undefined)
    return known.configuration
  }

  function authentication(): oidc.ClientAuth {
    const { clientSecret } = settings
    if (clientSecret === null) return oidc.None()
    const post = oidc.ClientSecretPost(clientSecret)
    return (server, client, body, headers) => {
      // what is not said means Basic (OpenID Connect Discovery, 3)
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const onlyPost = methods.includes('client_secret_post') && !methods.includes('client_secret_basic')
      const how = onlyPost ? post : basicAuthentication(clientSecret)
      how(server, client, body, headers)
    }
  }

  async function bounded<T>(work: () => Promise<T>): Promise<T> {
    if (atOnce >= MAX_CONCURRENT_LOGINS) throw new OAuthFailure('unreachable', 'is being asked about too many logins')
    atOnce++
    try {
      return await work()
    } catch (error) {
      const failure = toLoginFailure(error)
      // what it publishes may have changed: the next login asks
      if (failure.kind === 'unusable') known = null
      throw failure
    } finally {
      atOnce--
    }
  }

  return {
    name: settings.name ?? new URL(settings.issuer).host,

    prepare: () => bounded(async () => void (await configuration())),

    authorizationUrl: (redirectUri, { state, nonce, codeVerifier }) =>
      bounded(async () => {
        const parameters = {
          redirect_uri: redirectUri,
          scope: settings.scopes.join(' '),
          state,
          nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
        }
        return oidc.buildAuthorizationUrl(await configuration(), parameters).href
      }),

    claims: (answer, redirectUri, login, enough) =>
      bounded(async () => {
        const current = await configuration()
        const tokens = await oidc.authorizationCodeGrant(current, new URL(`${redirectUri}?${answer}`), {
          expectedState: login.state,
          expectedNonce: login.nonce,
          pkceCodeVerifier: login.codeVerifier,
          idTokenExpected: true,
        })
        const claims: Claims = tokens.claims()!
        if (enough(claims) || !current.serverMetadata().userinfo_endpoint) return claims
        // many say in the ID token only who it is
        const more = await oidc.fetchUserInfo(current, tokens.access_token, tokens.claims()!.sub)
        return { ...more, ...claims }
      }),
  }
}

/** The library's own errors hold what was received: of them only the code gets out. */
function toLoginFailure(error: unknown): OAuthFailure {
  if (!(error instanceof oidc.ClientError)) return toOAuthFailure(error, 'what a login needs')
  if (error.cause instanceof OAuthFailure) return error.cause
  return new OAuthFailure(
    'unusable',
    `answered with something that can't be trusted (${error.code ?? 'no more is known'})`,
  )
}
