/** Whose token it is, from what a provider says about a person. */
import type { Account } from '../../domain/ports/oauth-client.ts'

const LONGEST = 255

/**
 * From claims as OpenID Connect has them (Core 5.1), from an id_token or the userinfo endpoint. `upn` and
 * `preferred_username` are what Microsoft has for accounts without a mailbox. Null: there is no usable `sub`.
 */
export function accountOfClaims(claims: Record<string, unknown>): Account | null {
  const { sub, email, preferred_username, upn, name } = claims
  return accountOf(sub, [email, preferred_username, upn, name])
}

/**
 * The label is the first of these that is a text; else the id. All of it is the provider's to say: cut to what can be
 * stored and shown.
 */
export function accountOf(id: unknown, labels: readonly unknown[]): Account | null {
  // an id that was cut might be somebody else's
  if (typeof id !== 'string' || id === '' || id.length > LONGEST || shown(id) !== id) return null
  const label = labels.map((text) => (typeof text === 'string' ? shown(text) : '')).find((text) => text !== '')
  return { id, label: label ?? id }
}

/** Without control characters, and what else is not printable. */
function shown(text: string): string {
  // cut first: half a character that is left is one of those that go
  return text
    .slice(0, LONGEST)
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim()
}
