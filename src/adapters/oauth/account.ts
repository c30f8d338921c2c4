/** Identifies the account of a token from the provider's claims. */
import type { Account } from '../../domain/ports/oauth-client.ts'

const MAX_LENGTH = 255

/** Claims of OpenID Connect (Core 5.1). Microsoft uses `upn` and `preferred_username` for accounts without a mailbox. */
export function accountFromClaims(claims: Record<string, unknown>): Account | null {
  const { sub, email, preferred_username, upn, name } = claims
  return toAccount(sub, [email, preferred_username, upn, name])
}

/** Null: no usable id. The label is the first usable text, or else the id. */
export function toAccount(id: unknown, labels: readonly unknown[]): Account | null {
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
