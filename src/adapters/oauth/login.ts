/** The organization's login by OpenID Connect, with PKCE, nonce and state (docs/operations.md#login-by-openid-connect). */
import * as oidc from 'openid-client'
import type { Claims, Login } from '../../domain/ports/login.ts'
import { createOutbound } from '../../platform/http/guarded-fetch.ts'
import { OutboundFailure } from '../../platform/http/outbound-failure.ts'
import { basicAuthentication } from './client.ts'
import { toOutboundFailure } from './failure.ts'

export interface LoginSettings {
  issuer: string
  clientId: string
  /** null: a public client */
  clientSecret: string | null
  scopes: readonly string[]
  /** display name; null: the issuer's host */
  name: string | null
}

/** For one response of the provider. A login needs at most four while a person waits. */
const TIMEOUT_MS = 5_000
/** After this time metadata is read again in the background, while the old copy stays in use. */
const METADATA_MAX_AGE_MS = 3_600_000
/** Further logins fail immediately, so that slow ones do not pile up. */
const MAX_CONCURRENT_LOGINS = 32
/** The operator chooses the provider, so it may be in a private network. */
const ANY_NETWORK = { allow: ['0.0.0.0/0', '::/0'] }

/** `now`: ms, from a monotonic clock. `timeoutMs`: for one response of the provider. */
export function createLogin(
  settings: LoginSettings,
  { now = () => performance.now(), timeoutMs = TIMEOUT_MS }: { now?: () => number; timeoutMs?: number } = {},
): Login {
  const outbound = createOutbound(ANY_NETWORK)
  /** `since`: ms, from the clock of `now` */
  let known: { configuration: oidc.Configuration; since: number } | null = null
  let pendingConfiguration: Promise<oidc.Configuration> | null = null
  let runningLogins = 0

  const call: oidc.CustomFetch = async (url, { method, headers, body }) => {
    const sent = body instanceof URLSearchParams || typeof body === 'string' ? body : null
    const response = await outbound.fetch(url, { method, headers, body: sent, timeoutMs })
    // a 5xx counts as no response; its body is ignored
    if (response.status >= 500) throw new OutboundFailure('unanswered', `answered ${response.status}`)
    return response
  }

  async function discover(): Promise<oidc.Configuration> {
    const configuration = await oidc.discovery(new URL(settings.issuer), settings.clientId, {}, authentication(), {
      [oidc.customFetch]: call,
      // the address guard allows http only to this machine
      execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks],
    })
    const { authorization_endpoint, token_endpoint, jwks_uri } = configuration.serverMetadata()
    if (!authorization_endpoint || !token_endpoint || !jwks_uri)
      throw new OutboundFailure('unusable', 'publishes no endpoints for logins')
    known = { configuration, since: now() }
    return configuration
  }

  /** One request for all waiting logins. While metadata is cached, an unavailable provider does not matter. */
  async function configuration(): Promise<oidc.Configuration> {
    if (known && now() - known.since < METADATA_MAX_AGE_MS) return known.configuration
    pendingConfiguration ??= discover().finally(() => {
      pendingConfiguration = null
    })
    if (!known) return pendingConfiguration
    pendingConfiguration.catch(() => undefined)
    return known.configuration
  }

  function authentication(): oidc.ClientAuth {
    const { clientSecret } = settings
    if (clientSecret === null) return oidc.None()
    const post = oidc.ClientSecretPost(clientSecret)
    return (server, client, body, headers) => {
      // absent means Basic (OpenID Connect Discovery, 3)
      const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
      const onlyPost = methods.includes('client_secret_post') && !methods.includes('client_secret_basic')
      const how = onlyPost ? post : basicAuthentication(clientSecret)
      how(server, client, body, headers)
    }
  }

  async function bounded<T>(work: () => Promise<T>): Promise<T> {
    if (runningLogins >= MAX_CONCURRENT_LOGINS)
      throw new OutboundFailure('unreachable', 'has too many concurrent logins')
    runningLogins++
    try {
      return await work()
    } catch (error) {
      const failure = toLoginFailure(error)
      // its metadata may have changed, so the next login reads it again
      if (failure.kind === 'unusable') known = null
      throw failure
    } finally {
      runningLogins--
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
        // many providers put only the identity into the ID token
        const more = await oidc.fetchUserInfo(current, tokens.access_token, tokens.claims()!.sub)
        return { ...more, ...claims }
      }),
  }
}

/** The library's errors contain the response, so only the error code is passed on. */
function toLoginFailure(error: unknown): OutboundFailure {
  if (!(error instanceof oidc.ClientError)) return toOutboundFailure(error, 'what a login needs')
  if (error.cause instanceof OutboundFailure) return error.cause
  return new OutboundFailure(
    'unusable',
    `answered with something that can't be trusted (${error.code ?? 'no further details'})`,
  )
}
