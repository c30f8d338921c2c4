/** The field rules of OAuth providers (docs/oauth.md#rules). Pure: each function returns violations. */
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import type { Violation } from '../../errors/errors.ts'
import { violation } from '../../parsing/parse.ts'
import type { OAuthClient } from '../../ports/oauth-client.ts'
import type { CreateBody, UpdateBody } from '../../values/oauth-provider.ts'
import { sameOrigin } from '../provider-access.ts'

type AddressRules = Pick<OAuthClient, 'refusal'>

/** Parameters that this server sets in an authorization URL (RFC 6749, 7636, 9101; OpenID Connect). */
const RESERVED_PARAMETERS = [
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

export function createViolations(addresses: AddressRules, body: CreateBody): Violation[] {
  const secretless = body.token_endpoint_auth_method === 'none' && body.client_secret != null
  return [
    ...authUrlViolations(addresses, body.auth_url),
    ...tokenUrlViolations(addresses, body.token_url),
    ...(secretless ? [violation('client_secret', ONLY_WITH_SECRET)] : []),
  ]
}

/** Clients send stored values back, so only changed values are checked. */
export function updateViolations(addresses: AddressRules, stored: OAuthProvider, body: UpdateBody): Violation[] {
  const { auth_url: authUrl, token_url: tokenUrl, client_secret: secret } = body
  const secretless = (body.token_endpoint_auth_method ?? stored.tokenEndpointAuthMethod) === 'none'
  const tokenViolations =
    tokenUrl == null || tokenUrl === stored.tokenUrl ? [] : tokenUrlViolations(addresses, tokenUrl)
  const authViolations = authUrl == null || authUrl === stored.authUrl ? [] : authUrlViolations(addresses, authUrl)
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
            `Required when ${moved.join(' or ')} moves to another origin: only a caller who knows the secret may move it.`,
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
    .filter(([, sent, stored]) => sent != null && sent !== stored)
    .map(([field]) => violation(field, 'Cannot be changed.'))
}

/** This server sends codes and secrets to token_url, so it must be allowed to call it. */
function tokenUrlViolations(addresses: AddressRules, url: string): Violation[] {
  const refusal = addresses.refusal(url)
  return refusal === null ? [] : [violation('token_url', toSentence(refusal))]
}

/** People are sent to auth_url, and this server reads metadata there. */
function authUrlViolations(addresses: AddressRules, url: string): Violation[] {
  const refusal = addresses.refusal(url)
  if (refusal !== null) return [violation('auth_url', toSentence(refusal))]
  const { searchParams } = new URL(url)
  const own = RESERVED_PARAMETERS.filter((name) => searchParams.has(name))
  return own.length === 0
    ? []
    : [violation('auth_url', `Must not have ${own.join(', ')} in its query: each authorization sets that itself.`)]
}

/** "must be https" → "Must be https." */
export const toSentence = (clause: string) => `${clause[0]!.toUpperCase()}${clause.slice(1)}.`
