/** Reads the response of a token endpoint. */
import { decodeJwt } from 'jose'
import { type AuthorizationServer, type Client, processGenericTokenEndpointResponse } from 'oauth4webapi'
import { type Account, OAuthFailure, type TokenSet } from '../../domain/ports/oauth-client.ts'
import type { ProviderType } from '../../domain/values/oauth-provider.ts'
import { scope } from '../../domain/values/oauth-token.ts'
import { accountFromClaims } from './account.ts'
import { readJsonObject, toOAuthFailure } from './failure.ts'
import { accountFromResponse, toStandardResponse } from './provider-types.ts'

const EXPECTED_CONTENT = 'a token'

/** Ten years. A larger value is a misunderstanding, and a date can overflow. */
const MAX_EXPIRES_IN_SECONDS = 10 * 365 * 24 * 3600

const MAX_SCOPES = 500

/** Throws OAuthFailure: `refused`, `unusable` without a usable token, `unanswered` for truncated JSON. */
export async function readTokenSet(
  pendingResponse: Promise<Response>,
  server: AuthorizationServer,
  client: Client,
  type: ProviderType | null,
): Promise<TokenSet> {
  try {
    const response = await pendingResponse
    const body = await readJsonObject(response, EXPECTED_CONTENT)
    const { id_token, expires_in, ...answer } = toStandardResponse(type, body)
    const read = await processGenericTokenEndpointResponse(server, client, toLibraryResponse(response.status, answer))
    if (read.token_type !== 'bearer')
      throw new OAuthFailure('unusable', 'answered with a token that is not a bearer token')
    return {
      accessToken: read.access_token,
      tokenType: read.token_type,
      refreshToken: read.refresh_token ?? null,
      expiresIn: parseExpiresIn(expires_in),
      scopes: parseScope(read.scope),
      account: accountFromResponse(type, body, accountFromIdToken(id_token)),
    }
  } catch (error) {
    throw toOAuthFailure(error, EXPECTED_CONTENT)
  }
}

/**
 * The response for the library. Errors always get status 400: GitHub sends errors with 200 (docs.github.com, "Troubleshooting
 * OAuth app access token request errors"), and a challenge (401) would hide the code from the library.
 */
function toLibraryResponse(status: number, answer: Record<string, unknown>): Response {
  const { error } = answer
  if (typeof error === 'string' && error !== '') return Response.json({ error }, { status: 400 })
  if (status >= 400) throw new OAuthFailure('unusable', `answered ${status}`)
  // Twitch sends an array (dev.twitch.tv/docs/authentication/getting-tokens-oauth)
  const standard = { ...answer, scope: Array.isArray(answer.scope) ? answer.scope.join(' ') : answer.scope }
  const present = Object.entries(standard).filter(
    ([name, value]) => value !== null && (value !== '' || name === 'scope'),
  )
  return Response.json(Object.fromEntries(present))
}

/** Null: absent, not a number, or 0, which some use for "never" (Mailchimp, VK). Negative: already expired. */
function parseExpiresIn(value: unknown): number | null {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof seconds !== 'number' || Number.isNaN(seconds) || seconds === 0) return null
  return Math.min(Math.max(Math.ceil(seconds), 0), MAX_EXPIRES_IN_SECONDS)
}

/** Slack and GitHub separate scopes by commas, the standard by spaces. */
function parseScope(answered: string | undefined): string[] | null {
  if (answered === undefined) return null
  const all = new Set(answered.split(/[\s,]+/).filter((one) => scope.safeParse(one).success))
  return [...all].slice(0, MAX_SCOPES)
}

/**
 * Reads only the account's name. TLS to the token endpoint replaces the signature check (OpenID Connect Core, 3.1.3.7, no. 6).
 * The library does not get the id_token: it would require issuer and algorithm, unknown for a manually configured provider.
 */
function accountFromIdToken(idToken: unknown): Account | null {
  if (typeof idToken !== 'string') return null
  try {
    return accountFromClaims(decodeJwt(idToken))
  } catch {
    return null
  }
}
