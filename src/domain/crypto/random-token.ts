/** Random tokens of 256 bits: the OAuth `state` (RFC 6749, 10.12), the halves of a session, its codes, logins, and API keys. */
import { createHmac, hash, randomBytes } from 'node:crypto'

export const randomToken = (): string => randomBytes(32).toString('base64url')

/** The stored form: SHA-256 in hex, so a reader of the table cannot use the token. It is random: it needs no salt, no stretching. */
export const hashToken = (token: string): string => hash('sha256', token, 'hex')

/** A token that only the holder of `secret` can compute, with the `salt` that the database keeps. */
export const deriveToken = (secret: string, salt: string): string =>
  createHmac('sha256', secret).update(salt).digest('base64url')
