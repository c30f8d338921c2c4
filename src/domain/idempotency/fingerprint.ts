/** Signs a request, to recognise a repeat. A bare hash would let readers of the database guess the request's secrets. */
import type { KeyRing } from '../crypto/keyring.ts'

const PURPOSE = 'idempotency'

/** Deeper JSON is not compared. Verbs refuse half that depth. */
const MAX_DEPTH = 64

/** `<id of the key>.<signature>` */
export function fingerprint(keyring: KeyRing, request: string): string {
  return `${keyring.currentId}.${keyring.sign(PURPOSE, request)}`
}

/** Whether the fingerprint is of this request. True if its key has left the key ring, because that can't be checked. */
export function matchesFingerprint(keyring: KeyRing, made: string, request: string): boolean {
  const at = made.indexOf('.')
  return !keyring.has(made.slice(0, at)) || keyring.verify(PURPOSE, request, made.slice(at + 1))
}

/** The same text for equal JSON in any order of members. Some clients change the order with each attempt. */
export function canonical(value: unknown, level = 0): string {
  if (level > MAX_DEPTH) return '…'
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, level + 1)).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? ''
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item, level + 1)}`).join(',')}}`
}
