/** Reads the response of a token endpoint and the account that it names. Known providers deviate from the standard (RFC 6749, 5.1 and 5.2). */
import { decodeJwt } from 'jose'
import { type AuthorizationServer, type Client, processGenericTokenEndpointResponse } from 'oauth4webapi'
import type { Account, TokenSet } from '../../domain/ports/oauth-client.ts'
import { type ProviderType, scope } from '../../domain/values/oauth-provider.ts'
import { OutboundFailure } from '../../platform/http/outbound-failure.ts'
import { readJsonObject, toOutboundFailure } from './failure.ts'

const MAX_LENGTH = 255

/** Claims of OpenID Connect (Core 5.1). Microsoft uses `upn` and `preferred_username` for accounts without a mailbox. */
export function accountFromClaims(claims: Record<string, unknown>): Account | null {
  const { sub, email, preferred_username, upn, name } = claims
  return toAccount(sub, [email, preferred_username, upn, name])
}

/** Null: no usable id. The label is the first usable text, or else the id. */
function toAccount(id: unknown, labels: readonly unknown[]): Account | null {
  // a cut id could equal another account's
  if (typeof id !== 'string' || id === '' || id.length > MAX_LENGTH || toPrintable(id) !== id) return null
  const label = labels.map((text) => (typeof text === 'string' ? toPrintable(text) : '')).find((text) => text !== '')
  return { id, label: label ?? id }
}

function toPrintable(text: string): string {
  // cut first: the replacement then removes half of a surrogate pair
  return text
    .slice(0, MAX_LENGTH)
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim()
}

type Json = Record<string, unknown>

/**
 * The parameters that request scopes.
 * - Slack: `scope` requests the app's own (bot) token. `user_scope`, separated by commas, requests the person's
 *   (docs.slack.dev/authentication/installing-with-oauth).
 * - Microsoft: returns a refresh token only with `offline_access` (learn.microsoft.com/entra/identity-platform/scopes-oidc).
 * - Salesforce: standard. The caller must request its `refresh_token` scope, because orgs can forbid it and then refuse the
 *   whole request.
 */
export function scopeParameters(type: ProviderType | null, scopes: readonly string[]): Record<string, string> {
  if (type === 'slack') return scopes.length > 0 ? { user_scope: scopes.join(',') } : {}
  const requested = type === 'microsoft' ? [...new Set([...scopes, 'offline_access'])] : scopes
  return requested.length > 0 ? { scope: requested.join(' ') } : {}
}

/**
 * Other names of `invalid_grant`: Slack's (docs.slack.dev/reference/methods/oauth.v2.access), GitHub's (docs.github.com,
 * "Refreshing user access tokens"), Microsoft's (learn.microsoft.com/entra/identity-platform/v2-oauth2-auth-code-flow, "Error
 * codes for token endpoint errors").
 */
const ENDED_GRANT_ERRORS = new Set(['invalid_refresh_token', 'bad_refresh_token', 'interaction_required'])

/**
 * Converts a token response to the standard form.
 * - Slack reports errors as `ok: false` with status 200. A code exchange returns the person's token in `authed_user`, a refresh
 *   at the top level. Its types `user` and `bot` are bearer tokens (docs.slack.dev/reference/methods/oauth.v2.access,
 *   docs.slack.dev/authentication/using-token-rotation).
 * - Microsoft omits `offline_access` from the granted scopes; the refresh token implies it.
 */
export function toStandardResponse(type: ProviderType | null, body: Json): Json {
  if (typeof body.error === 'string' && ENDED_GRANT_ERRORS.has(body.error)) return { error: 'invalid_grant' }
  if (type === 'slack') return fromSlack(body)
  if (type === 'microsoft' && typeof body.refresh_token === 'string' && typeof body.scope === 'string')
    return { ...body, scope: `${body.scope} offline_access` }
  return body
}

function fromSlack(body: Json): Json {
  if (body.ok === false) return { error: body.error }
  const person = objectOf(body.authed_user)
  const answer = typeof person.access_token === 'string' ? person : body
  // a bot's token acts for no person and was not requested, so it is not passed on
  if (answer.token_type === 'bot') return {}
  return { ...answer, token_type: answer.token_type === 'user' ? 'bearer' : answer.token_type }
}

/**
 * The account, for providers that name it in a special member. Null: unknown.
 * - Slack: ids of people are unique only within a workspace (`team`); there is no name.
 * - Salesforce: `id` is the identity URL of org and person (help.salesforce.com: OAuth 2.0 Web Server Flow, "id"). `known`: the
 *   account of the id_token.
 */
function accountFromResponse(type: ProviderType | null, body: Json, known: Account | null): Account | null {
  if (type === 'salesforce') return toAccount(body.id, [known?.label]) ?? known
  if (type !== 'slack') return known
  const team = objectOf(body.team)
  const person = objectOf(body.authed_user).id
  if (typeof team.id !== 'string' || typeof person !== 'string') return known
  return toAccount(`${team.id}/${person}`, [typeof team.name === 'string' && `${person} (${team.name})`])
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

const EXPECTED_CONTENT = 'a token'

/** Ten years. A larger value is a misunderstanding, and a date can overflow. */
const MAX_EXPIRES_IN_SECONDS = 10 * 365 * 24 * 3600

const MAX_SCOPES = 500

/** Throws OutboundFailure: `refused`, `unusable` without a usable token, `unanswered` for truncated JSON. */
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
      throw new OutboundFailure('unusable', 'answered with a token that is not a bearer token')
    return {
      accessToken: read.access_token,
      tokenType: read.token_type,
      refreshToken: read.refresh_token ?? null,
      expiresIn: parseExpiresIn(expires_in),
      scopes: parseScope(read.scope),
      account: accountFromResponse(type, body, accountFromIdToken(id_token)),
    }
  } catch (error) {
    throw toOutboundFailure(error, EXPECTED_CONTENT)
  }
}

/**
 * The response for the library. Errors always get status 400: GitHub sends errors with 200 (docs.github.com, "Troubleshooting
 * OAuth app access token request errors"), and a challenge (401) would hide the code from the library.
 */
function toLibraryResponse(status: number, answer: Record<string, unknown>): Response {
  const { error } = answer
  if (typeof error === 'string' && error !== '') return Response.json({ error }, { status: 400 })
  if (status >= 400) throw new OutboundFailure('unusable', `answered ${status}`)
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
