/** Parses the `Idempotency-Key` header. */
import type { Violation } from '../errors/errors.ts'

const MAX_LENGTH = 255

/**
 * Two forms: a bare key without spaces, and the quoted string (RFC 8941) of draft-ietf-httpapi-idempotency-key-header.
 * The key of the quoted form is the text between the quotes.
 */
const BARE = /^[\x21\x23-\x7e][\x21-\x7e]*$/
const QUOTED = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/

export type ReadKey = { key: string } | { refused: Violation }

/** Parses the header Idempotency-Key. `text`: its value. */
export function readKey(text: string): ReadKey {
  const quoted = QUOTED.exec(text)?.[1]
  const key = quoted === undefined ? text : quoted.replace(/\\(.)/g, '$1')
  if (key === '') return refused('Must not be empty.', 'missing')
  if (quoted === undefined && !BARE.test(text))
    return refused(
      'Must be printable ASCII without spaces, or in double quotes; best is a random UUID for each write.',
      'string_pattern_mismatch',
    )
  if (key.length > MAX_LENGTH) return refused(`Must have at most ${MAX_LENGTH} characters.`, 'string_too_long')
  return { key }
}

const refused = (msg: string, type: string) => ({ refused: { loc: ['header', 'Idempotency-Key'], msg, type } })
