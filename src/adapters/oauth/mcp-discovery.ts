/** Finds the authorization server of an MCP server and registers a client there (MCP authorization; RFC 9728, 8414, 7591). */
import * as oauth from 'oauth4webapi'
import {
  McpDiscoveryError,
  McpUnavailableError,
  type OAuthClient,
  type RegisteredClient,
} from '../../domain/ports/oauth-client.ts'
import { AUTH_METHODS, type AuthMethod } from '../../domain/values/oauth-provider.ts'
import { withTimeout } from '../../platform/async/time-limit.ts'
import type { Outbound } from '../../platform/http/guarded-fetch.ts'
import type { OutboundRules } from '../../platform/http/outbound-address.ts'
import { toOutboundFailure } from './failure.ts'
import { findAuthorizationServer, type UsableServer } from './mcp-authorization-server.ts'
import { type McpRequests, requireAvailable, toMcpError } from './mcp-requests.ts'
import { findProtectedResource } from './mcp-resource-metadata.ts'

/** For all calls together, because a person waits. */
const TIMEOUT_MS = 20_000

/** Uses the first usable authorization server. Throws McpDiscoveryError or McpUnavailableError for the first one. */
export async function registerForMcp(
  outbound: Outbound,
  rules: OutboundRules,
  mcpServerUrl: string,
  client: NewClient,
  timeoutMs = TIMEOUT_MS,
): Promise<RegisteredClient> {
  return withTimeout(timeoutMs, new AbortController().signal, async (signal) => {
    const requests = { outbound, rules, timeoutMs, signal }
    const { resource, issuers, unnamed } = await findProtectedResource(requests, new URL(mcpServerUrl))
    let wrong: unknown
    for (const issuer of issuers) {
      try {
        const server = await findAuthorizationServer(requests, issuer, unnamed)
        return { ...(await registerClient(requests, server, client)), ...server.published, resource }
      } catch (error) {
        if (!(error instanceof McpDiscoveryError || error instanceof McpUnavailableError)) throw error
        wrong ??= error
      }
    }
    throw wrong
  })
}

type NewClient = Parameters<OAuthClient['registerForMcp']>[1]
type Registered = Pick<RegisteredClient, 'clientId' | 'clientSecret' | 'tokenEndpointAuthMethod'>

/** Most preferred first. */
const PREFERRED_METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const

/** Client secrets are not renewed here, so a secret that expires earlier would break the provider. */
const MIN_SECRET_LIFETIME_SECONDS = 365 * 24 * 60 * 60

async function registerClient(requests: McpRequests, server: UsableServer, client: NewClient): Promise<Registered> {
  const offered = server.authMethods ?? ['client_secret_basic']
  const method = PREFERRED_METHODS.find((one) => offered.includes(one))
  if (!method) throw registrationError(`supports none of the auth methods ${PREFERRED_METHODS.join(', ')}`)
  const registered = await registerAs(method, requests, server, client)
  if (registered) return registered
  // A public client has no secret that expires. The response tells whether the server accepts one.
  const secretless = await registerAs('none', requests, server, client)
  if (secretless) return secretless
  throw registrationError('gives out client secrets that expire')
}

/** Null: the client's secret expires. */
async function registerAs(
  method: AuthMethod,
  requests: McpRequests,
  server: UsableServer,
  client: NewClient,
): Promise<Registered | null> {
  const what = 'The authorization server of this MCP server could not be asked to register a client'
  const pendingResponse = sendRegistration(method, requests, server, client).then(requireAvailable)
  const response = await pendingResponse.catch((error) => {
    throw toMcpError(requests, what, server.registrationUrl, error)
  })
  return toRegisteredClient(method, await readRegistration(response))
}

function sendRegistration(
  method: AuthMethod,
  { outbound, signal }: McpRequests,
  server: UsableServer,
  { name, redirectUri }: NewClient,
): Promise<Response> {
  return oauth.dynamicClientRegistrationRequest(
    { issuer: server.published.issuer, registration_endpoint: server.registrationUrl },
    {
      client_name: `Pilothouse: ${name}`,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', ...(server.refreshes ? ['refresh_token'] : [])],
      response_types: ['code'],
      token_endpoint_auth_method: method,
      // OpenID Connect Registration allows http only for native applications
      application_type: new URL(redirectUri).protocol === 'http:' ? 'native' : 'web',
    },
    { [oauth.customFetch]: outbound.fetch, [oauth.allowInsecureRequests]: true, signal },
  )
}

async function readRegistration(response: Response): Promise<oauth.OmitSymbolProperties<oauth.Client>> {
  // RFC 7591 and the library require 201; some well-known servers respond 200
  const { status, headers } = response
  const answer = status === 200 ? new Response(await response.arrayBuffer(), { status: 201, headers }) : response
  try {
    return await oauth.processDynamicClientRegistrationResponse(answer)
  } catch (error) {
    if (status === 401 || status === 403) throw registrationError('registers no clients without credentials')
    const { error: code } = toOutboundFailure(error, 'a client')
    throw registrationError(
      code ? `refused to register a client (${code})` : 'did not return a client for the registration',
    )
  }
}

/** The response decides, because the server may change requested values (RFC 7591, 3.2.1). */
function toRegisteredClient(
  requestedMethod: AuthMethod,
  answer: oauth.OmitSymbolProperties<oauth.Client>,
): Registered | null {
  const { client_id: clientId, client_secret: secret, client_secret_expires_at: ends } = answer
  const defaultMethod =
    secret === undefined ? 'none' : requestedMethod === 'none' ? 'client_secret_basic' : requestedMethod
  const method = AUTH_METHODS.find((one) => one === (answer.token_endpoint_auth_method ?? defaultMethod))
  if (!method) throw registrationError('registered a client with an unsupported auth method')
  if (method !== 'none' && secret === undefined)
    throw registrationError('registered a client without the secret that it needs')
  const clientSecret = method === 'none' ? null : (secret as string)
  // characters of a client id and a secret (RFC 6749, A.1, A.2)
  if (![clientId, clientSecret ?? '-'].every((text) => /^[ -~]{1,4096}$/.test(text)))
    throw registrationError('registered a client whose id or secret can’t be used')
  const isLongLived =
    clientSecret === null || ends === 0 || Number(ends) > Date.now() / 1000 + MIN_SECRET_LIFETIME_SECONDS
  return isLongLived ? { clientId, clientSecret, tokenEndpointAuthMethod: method } : null
}

/** Advises a manual registration, which is always possible. */
const registrationError = (what: string) =>
  new McpDiscoveryError(
    `The authorization server of this MCP server ${what}. Register a client there yourself, and create the provider with it (POST /v2/auth/providers).`,
  )
