/** The field rules of OAuth providers (docs/oauth.md#rules). Pure: each function returns violations. */
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import type { Violation } from '../../errors/errors.ts'
import { immutableViolations, violation, violationUnless } from '../../parsing/parse.ts'
import type { OAuthClient } from '../../ports/oauth-client.ts'
import type { CreateBody, UpdateBody } from '../../values/oauth-provider.ts'
import { sameOrigin } from '../tokens/provider-access.ts'

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
  const secretless = body.token_endpoint_auth_method === 'none'
  return [
    ...authUrlViolations(addresses, body.auth_url),
    ...tokenUrlViolations(addresses, body.token_url),
    ...violationUnless(!secretless || body.client_secret == null, 'client_secret', ONLY_WITH_SECRET),
  ]
}

/** Clients send stored values back, so only changed values are checked. */
export function updateViolations(addresses: AddressRules, stored: OAuthProvider, body: UpdateBody): Violation[] {
  const { auth_url: authUrl, token_url: tokenUrl, client_secret: secret } = body
  const secretless = (body.token_endpoint_auth_method ?? stored.tokenEndpointAuthMethod) === 'none'
  const moves = (sent: string | null | undefined, old: string, violations: Violation[]) =>
    sent != null && violations.length === 0 && !sameOrigin(sent, old)
  const tokenUrlWrong = tokenUrl == null || tokenUrl === stored.tokenUrl ? [] : tokenUrlViolations(addresses, tokenUrl)
  const authUrlWrong = authUrl == null || authUrl === stored.authUrl ? [] : authUrlViolations(addresses, authUrl)
  const moved = [
    ...(moves(tokenUrl, stored.tokenUrl, tokenUrlWrong) ? ['token_url'] : []),
    ...(moves(authUrl, stored.authUrl, authUrlWrong) ? ['auth_url'] : []),
  ]
  const secretMissing = moved.length > 0 && stored.clientSecret !== null && !secretless && secret == null
  const onlyWhoKnows = 'moves to another origin: only a caller who knows the secret may move it.'
  return [
    ...immutableViolations([
      ['id', body.id, stored.id],
      ['organization_id', body.organization_id, stored.organizationId],
      ['provider_id', body.provider_id, stored.providerId],
      ['provider_type', body.provider_type, stored.providerType],
      ['mcp_server_url', body.mcp_server_url, stored.mcpServerUrl],
      ['is_dynamic_client', body.is_dynamic_client, stored.isDynamicClient],
    ]),
    ...authUrlWrong,
    ...tokenUrlWrong,
    ...violationUnless(!secretless || secret == null, 'client_secret', ONLY_WITH_SECRET),
    ...violationUnless(
      !secretMissing,
      'client_secret',
      `Required when ${moved.join(' or ')} ${onlyWhoKnows}`,
      'missing',
    ),
  ]
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
  const message = `Must not have ${own.join(', ')} in its query: each authorization sets that itself.`
  return violationUnless(own.length === 0, 'auth_url', message)
}

/** "must be https" → "Must be https." */
export const toSentence = (clause: string) => `${clause[0]!.toUpperCase()}${clause.slice(1)}.`
