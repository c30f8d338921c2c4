/** What an API key is: its text, which only its owner ever has, and what is stored of it (contract 1). */
import { createHash, randomBytes } from 'node:crypto'

const START = 'cpk_'

/** A new key: `cpk_` and 256 random bits. */
export function generateKey(): string {
  return START + randomBytes(32).toString('base64url')
}

/** What is stored and looked up: SHA-256, hex. No salt and no stretching: the keys are random, not chosen by people. */
export function hashKey(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** The first characters, for people to tell keys apart. Of a key that the operator chose, fewer: it may be short. */
export function prefixOf(text: string): string {
  return text.slice(0, text.startsWith(START) ? 12 : 4)
}
