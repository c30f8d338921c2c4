/**
 * What a session is known by: two halves, a cookie and what only the page has, each of no use without the other; and the code
 * that opens one (docs/api-rules.md#sessions). All are 256 random bits; stored are hashes, of the halves one of both together.
 */
import { hash, randomBytes } from 'node:crypto'

/** A half, or a code. */
export const randomToken = (): string => randomBytes(32).toString('base64url')

/** What is stored and looked up: SHA-256, hex. */
export const hashToken = (token: string): string => hash('sha256', token, 'hex')

/** Of both halves. No half has the dot in it. */
export const hashHalves = (cookie: string, half: string): string => hashToken(`${cookie}.${half}`)

/**
 * What a session is looked up by when more than one cookie may be its half: the hashes, in one text. With one cookie it is that
 * one's hash.
 */
export const candidateHashes = (cookies: readonly string[], half: string): string =>
  cookies.map((cookie) => hashHalves(cookie, half)).join(' ')
