/**
 * What the providers that depart from the standard do otherwise. Pure: their answers are brought into the standard's
 * form (RFC 6749, 5.1 and 5.2) before the library sees them.
 */

import type { Account } from '../../domain/ports/oauth-client.ts'
import type { ProviderType } from '../../domain/values/oauth-provider.ts'
import { toAccount } from './account.ts'

type Json = Record<string, unknown>

/**
 * The parameters that say which scopes are asked for.
 * - Slack: `scope` asks for the app's own (bot) token; what acts for the person is asked for by `user_scope`, separated
 *   by commas (docs.slack.dev/authentication/installing-with-oauth).
 * - Microsoft: there is a refresh token only with `offline_access`
 *   (learn.microsoft.com/entra/identity-platform/scopes-oidc).
 * - Salesforce: as the standard has it. Its `refresh_token` scope is the caller's to ask for: orgs can forbid it, and
 *   then refuse all of the request.
 */
export function scopeParameters(type: ProviderType | null, scopes: readonly string[]): Record<string, string> {
  if (type === 'slack') return scopes.length > 0 ? { user_scope: scopes.join(',') } : {}
  const asked = type === 'microsoft' ? [...new Set([...scopes, 'offline_access'])] : scopes
  return asked.length > 0 ? { scope: asked.join(' ') } : {}
}

/**
 * Names of their own for `invalid_grant`: the person has to come again. Slack's (docs.slack.dev/reference/methods/
 * oauth.v2.access), GitHub's (docs.github.com, "Refreshing user access tokens"), Microsoft's (learn.microsoft.com/
 * entra/identity-platform/v2-oauth2-auth-code-flow, "Error codes for token endpoint errors").
 */
const ENDED_GRANT_ERRORS = new Set(['invalid_refresh_token', 'bad_refresh_token', 'interaction_required'])

/**
 * A token endpoint's answer as the standard has it.
 * - Slack says `ok: false` with a status of 200. With a code, the person's token is in `authed_user`; with a refresh
 *   token it is on top. Its types are `user` and `bot`, and it is used as a bearer token
 *   (docs.slack.dev/reference/methods/oauth.v2.access, docs.slack.dev/authentication/using-token-rotation).
 * - Microsoft leaves `offline_access` out of the scopes it grants: the refresh token is what stands for it.
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
  // a bot's token acts for nobody: it was not asked for, and is not handed out as somebody's
  if (answer.token_type === 'bot') return {}
  return { ...answer, token_type: answer.token_type === 'user' ? 'bearer' : answer.token_type }
}

/**
 * Whose token it is, where the answer tells in a way of its own. Null: it doesn't.
 * - Slack: ids of people are unique within their workspace (`team`) only; there is no name.
 * - Salesforce: `id` is the identity URL, which names org and person
 *   (help.salesforce.com: OAuth 2.0 Web Server Flow, "id"); `known`: what its id_token says.
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
