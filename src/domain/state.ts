/**
 * The state that a person takes to another server and back, and that stands for what was begun here (RFC 6749, 10.12).
 */
import { createHash, randomBytes } from 'node:crypto'

/** A new one: 256 random bits. */
export function newState(): string {
  return randomBytes(32).toString('base64url')
}

/** What is stored of it, so that nobody who reads the table can finish what was begun: SHA-256, hex. */
export function hashState(state: string): string {
  return createHash('sha256').update(state).digest('hex')
}
