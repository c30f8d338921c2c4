/**
 * What tells whether a repeat is one: a signature over all that was asked for. Not a bare hash: secrets that were sent
 * could be guessed from one by whoever reads the database.
 */
import type { KeyRing } from '../crypto/keyring.ts'

const PURPOSE = 'idempotency'

/** Levels of JSON that are told apart: verbs refuse what is nested half as deep. */
const MAX_DEPTH = 64

/** `<id of the ring's key>.<signature>` */
export function fingerprint(keyring: KeyRing, request: string): string {
  return `${keyring.currentId}.${keyring.sign(PURPOSE, request)}`
}

/** Whether it was made of the same request. Where its key has left the ring nobody can tell: it is taken to be. */
export function matchesFingerprint(keyring: KeyRing, made: string, request: string): boolean {
  const at = made.indexOf('.')
  return !keyring.has(made.slice(0, at)) || keyring.verify(PURPOSE, request, made.slice(at + 1))
}

/** The same text for the same JSON, however its members are ordered: some clients write them in a new order each time. */
export function canonical(value: unknown, level = 0): string {
  if (level > MAX_DEPTH) return '…'
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, level + 1)).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? ''
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item, level + 1)}`).join(',')}}`
}
