/** The OAuth `state` parameter, which identifies an authorization flow (RFC 6749, 10.12). */
import { createHash, randomBytes } from 'node:crypto'

export function newState(): string {
  return randomBytes(32).toString('base64url')
}

/** The stored form: SHA-256 in hex, so a reader of the table cannot use the state. */
export function hashState(state: string): string {
  return createHash('sha256').update(state).digest('hex')
}
