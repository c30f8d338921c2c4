/**
 * The rules of OAuth providers (spec 2.8, contract 8). Pure: each of the first group returns the list of what is wrong.
 */
import type { OAuthProvider } from '../../generated/prisma/client.ts'
import type { Violation } from '../errors.ts'
import { violation } from '../parse.ts'
import type { OAuthClient } from './client.ts'
import type { CreateBody, UpdateBody } from './schemas.ts'

/** Where addresses are judged. */
type Judge = Pick<OAuthClient, 'refusal'>

/** What is this server's to say in an authorization URL (RFC 6749, 7636, 9101; OpenID Connect). */
const OURS = [
  'client_id',
  'redirect_uri',
  'response_type',
  'scope',
  'state',
  'nonce',
  'code_challenge',
  'code_challenge_method',
  'request',
  'request_uri',
]

const ONLY_WITH_SECRET = 'Only for a token_endpoint_auth_method that uses it: it is none.'

export function createViolations(judge: Judge, body: CreateBody): Violation[] {
  const secretless = body.token_endpoint_auth_method === 'none' && body.client_secret != null
  return [
    ...authUrlViolations(judge, body.auth_url),
    ...tokenUrlViolations(judge, body.token_url),
    ...(secretless ? [violation('client_secret', ONLY_WITH_SECRET)] : []),
  ]
}

/** Clients send back what they got: only another value than the stored one is judged. */
export function updateViolations(judge: Judge, stored: OAuthProvider, body: UpdateBody): Violation[] {
  const { auth_url: authUrl, token_url: tokenUrl, client_secret: secret } = body
  const secretless = (body.token_endpoint_auth_method ?? stored.tokenEndpointAuthMethod) === 'none'
  const tokenViolations = tokenUrl == null || tokenUrl === stored.tokenUrl ? [] : tokenUrlViolations(judge, tokenUrl)
  const authViolations = authUrl == null || authUrl === stored.authUrl ? [] : authUrlViolations(judge, authUrl)
  const moved = [
    ...(tokenUrl != null && tokenViolations.length === 0 && !sameOrigin(tokenUrl, stored.tokenUrl)
      ? ['token_url']
      : []),
    ...(authUrl != null && authViolations.length === 0 && !sameOrigin(authUrl, stored.authUrl) ? ['auth_url'] : []),
  ]
  return [
    ...immutableViolations(stored, body),
    ...authViolations,
    ...tokenViolations,
    ...(secretless && secret != null ? [violation('client_secret', ONLY_WITH_SECRET)] : []),
    ...(moved.length > 0 && stored.clientSecret !== null && !secretless && secret == null
      ? [
          violation(
            'client_secret',
            `Required when ${moved.join(' or ')} moves to another origin: only who knows the client may move it.`,
            'missing',
          ),
        ]
      : []),
  ]
}

function immutableViolations(stored: OAuthProvider, body: UpdateBody): Violation[] {
  const immutable: [string, unknown, unknown][] = [
    ['id', body.id, stored.id],
    ['organization_id', body.organization_id, stored.organizationId],
    ['provider_id', body.provider_id, stored.providerId],
    ['provider_type', body.provider_type, stored.providerType],
    ['mcp_server_url', body.mcp_server_url, stored.mcpServerUrl],
    ['is_dynamic_client', body.is_dynamic_client, stored.isDynamicClient],
  ]
  return immutable
    .filter(([, said, is]) => said != null && said !== is)
    .map(([field]) => violation(field, 'Cannot be changed.'))
}

/** This server sends codes and secrets there itself. */
function tokenUrlViolations(judge: Judge, url: string): Violation[] {
  const refusal = judge.refusal(url)
  return refusal === null ? [] : [violation('token_url', asSentence(refusal))]
}

/** People are sent there in our name, and what it publishes is read. */
function authUrlViolations(judge: Judge, url: string): Violation[] {
  const refusal = judge.refusal(url)
  if (refusal !== null) return [violation('auth_url', asSentence(refusal))]
  const { searchParams } = new URL(url)
  const said = OURS.filter((name) => searchParams.has(name))
  return said.length === 0
    ? []
    : [violation('auth_url', `Must not have ${said.join(', ')} in its query: each authorization says that itself.`)]
}

/** "must be https" → "Must be https." */
export const asSentence = (clause: string) => `${clause[0]!.toUpperCase()}${clause.slice(1)}.`

export const sameOrigin = (a: string, b: string) => new URL(a).origin === new URL(b).origin

/**
 * What is to be done before anybody can be sent to it, as a sentence; null: nothing. A provider may be created without
 * the secret that its auth method uses (contract 8), but no code can be exchanged so.
 */
export function missingSecret(
  provider: Pick<OAuthProvider, 'providerId' | 'tokenEndpointAuthMethod' | 'clientSecret'>,
): string | null {
  const { providerId, tokenEndpointAuthMethod: method, clientSecret } = provider
  if (method === 'none' || clientSecret !== null) return null
  return (
    `The OAuth provider '${providerId}' has no client_secret, which its token_endpoint_auth_method ${method} needs. ` +
    'PATCH its client_secret, or its token_endpoint_auth_method to none.'
  )
}
