/** The OAuth `state` parameter, which identifies an authorization flow (RFC 6749, 10.12). */
import { createHash, randomBytes } from 'node:crypto'

/** 256 random bits. */
export function newState(): string {
  return randomBytes(32).toString('base64url')
}

/** What is stored of it: SHA-256, hex, so that whoever can read the table can't use it. */
export function hashState(state: string): string {
  return createHash('sha256').update(state).digest('hex')
}
