/** Generates and hashes API keys (docs/api-rules.md#who-is-calling). */
import { hash, randomBytes } from 'node:crypto'

const KEY_PREFIX = 'cpk_'

export function generateKey(): string {
  return KEY_PREFIX + randomBytes(32).toString('base64url')
}

/** SHA-256, hex. Keys are random, so they need neither salt nor stretching. */
export function hashKey(text: string): string {
  return hash('sha256', text, 'hex')
}

/** The first characters, so people can tell keys apart. Fewer for a key that the operator chose, because it may be short. */
export function displayPrefix(text: string): string {
  return text.slice(0, text.startsWith(KEY_PREFIX) ? 12 : 4)
}
