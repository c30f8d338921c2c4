/** Text that programs print, as people see it and as Postgres can store it: that has no NUL and no half of a surrogate pair. */
import { stripVTControlCharacters } from 'node:util'

/** One line without colours and NUL (Postgres has none in text). */
export function clean(raw: string): string {
  // a progress bar rewrites its line with \r: what stood there last is what stays
  const shown = raw.replace(/\r+$/, '')
  const text = shown.slice(shown.lastIndexOf('\r') + 1)
  return stripVTControlCharacters(text).replaceAll('\0', '\ufffd')
}

/**
 * At most `most` characters; what can't be stored becomes U+FFFD. Not only lines: one message of a cluster that can't be
 * stored would have the heartbeat of all claims refused.
 */
export function storable(text: string, most?: number): string {
  return text.slice(0, most).replace(/\0|\p{Surrogate}/gu, '\ufffd')
}
