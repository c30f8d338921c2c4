/** Deviations of known providers from the OAuth standard (RFC 6749, 5.1 and 5.2), and the conversion to it. Pure. */

import type { Account } from '../../domain/ports/oauth-client.ts'
import type { ProviderType } from '../../domain/values/oauth-provider.ts'
import { toAccount } from './account.ts'

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
export function accountFromResponse(type: ProviderType | null, body: Json, known: Account | null): Account | null {
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
