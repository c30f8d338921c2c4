/** The two halves of a session and its one-time code: 256 random bits each, stored as hashes (README.md). */
import { hash, randomBytes } from 'node:crypto'

export const randomToken = (): string => randomBytes(32).toString('base64url')

/** SHA-256, hex. */
export const hashToken = (token: string): string => hash('sha256', token, 'hex')

/** A half never contains a dot. */
export const hashHalves = (cookie: string, half: string): string => hashToken(`${cookie}.${half}`)

/** The hashes to look a session up by, separated by spaces: one for each cookie that may be its half. */
export const candidateHashes = (cookies: readonly string[], half: string): string =>
  cookies.map((cookie) => hashHalves(cookie, half)).join(' ')
