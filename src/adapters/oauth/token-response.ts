/** Reads a token endpoint's answer. */
import { decodeJwt } from 'jose'
import { type AuthorizationServer, type Client, processGenericTokenEndpointResponse } from 'oauth4webapi'
import { type Account, OAuthFailure, type TokenSet } from '../../domain/ports/oauth-client.ts'
import type { ProviderType } from '../../domain/values/oauth-provider.ts'
import { scope } from '../../domain/values/oauth-token.ts'
import { accountFromClaims } from './account.ts'
import { readJsonObject, toOAuthFailure } from './failure.ts'
import { accountFromResponse, toStandardResponse } from './provider-types.ts'

const EXPECTED_CONTENT = 'a token'

/** seconds. What says more than that has not understood the question, and dates have an end. */
const MAX_EXPIRES_IN_SECONDS = 10 * 365 * 24 * 3600

const MAX_SCOPES = 500

/**
 * `asked`: what the library has sent. Throws OAuthFailure: `refused` with the provider's error code; `unusable` for
 * what is no token that can be used; `unanswered` for JSON that is not all there.
 */
export async function readTokenSet(
  asked: Promise<Response>,
  server: AuthorizationServer,
  client: Client,
  type: ProviderType | null,
): Promise<TokenSet> {
  try {
    const response = await asked
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
 * What the library is shown. Errors always with a status of 400: GitHub gives 200 to its own (docs.github.com,
 * "Troubleshooting OAuth app access token request errors"), and a challenge (401) would hide the code from the library.
 */
function toLibraryResponse(status: number, answer: Record<string, unknown>): Response {
  const { error } = answer
  if (typeof error === 'string' && error !== '') return Response.json({ error }, { status: 400 })
  if (status >= 400) throw new OAuthFailure('unusable', `answered ${status}`)
  // Twitch lists its scopes (dev.twitch.tv/docs/authentication/getting-tokens-oauth)
  const standard = { ...answer, scope: Array.isArray(answer.scope) ? answer.scope.join(' ') : answer.scope }
  const said = Object.entries(standard).filter(([name, value]) => value !== null && (value !== '' || name === 'scope'))
  return Response.json(Object.fromEntries(said))
}

/**
 * Some send a text. Null: it does not say, or not by a number, or by 0, by which some mean "never" (Mailchimp, VK). Less
 * than that: it has expired already.
 */
function parseExpiresIn(value: unknown): number | null {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof seconds !== 'number' || Number.isNaN(seconds) || seconds === 0) return null
  return Math.min(Math.max(Math.ceil(seconds), 0), MAX_EXPIRES_IN_SECONDS)
}

/** Slack and GitHub separate them by commas, the standard by spaces. */
function parseScope(answered: string | undefined): string[] | null {
  if (answered === undefined) return null
  const all = new Set(answered.split(/[\s,]+/).filter((one) => scope.safeParse(one).success))
  return [...all].slice(0, MAX_SCOPES)
}

/**
 * Only read, for the account's name: nobody is logged in by it. It came from the token endpoint itself, over TLS, which
 * stands in for its signature (OpenID Connect Core, 3.1.3.7, no. 6). The library is not shown it: it would want its
 * issuer and algorithm, and we do not know those of a provider that was entered by hand.
 */
function accountFromIdToken(idToken: unknown): Account | null {
  if (typeof idToken !== 'string') return null
  try {
    return accountFromClaims(decodeJwt(idToken))
  } catch {
    return null
  }
}
