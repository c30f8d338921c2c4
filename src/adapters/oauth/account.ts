/** Whose token it is, from what a provider says about a person. */
import type { Account } from '../../domain/ports/oauth-client.ts'

const MAX_LENGTH = 255

/**
 * From claims as OpenID Connect has them (Core 5.1), from an id_token or the userinfo endpoint. `upn` and
 * `preferred_username` are what Microsoft has for accounts without a mailbox. Null: there is no usable `sub`.
 */
export function accountFromClaims(claims: Record<string, unknown>): Account | null {
  const { sub, email, preferred_username, upn, name } = claims
  return toAccount(sub, [email, preferred_username, upn, name])
}

/**
 * The label is the first of these that is a text; else the id. All of it is the provider's to say: cut to what can be
 * stored and shown.
 */
export function toAccount(id: unknown, labels: readonly unknown[]): Account | null {
  // an id that was cut might be somebody else's
  if (typeof id !== 'string' || id === '' || id.length > MAX_LENGTH || toPrintable(id) !== id) return null
  const label = labels.map((text) => (typeof text === 'string' ? toPrintable(text) : '')).find((text) => text !== '')
  return { id, label: label ?? id }
}

/** Without control characters, and what else is not printable. */
function toPrintable(text: string): string {
  // cut first: half a character that is left is one of those that go
  return text
    .slice(0, MAX_LENGTH)
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
    .trim()
}
