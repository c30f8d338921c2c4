/** What a person would have seen of a line that a program printed. */
import { stripVTControlCharacters } from 'node:util'

/** One line without colours and NUL (Postgres has none in text). */
export function clean(raw: string): string {
  // a progress bar rewrites its line with \r: what stood there last is what stays
  const shown = raw.replace(/\r+$/, '')
  const text = shown.slice(shown.lastIndexOf('\r') + 1)
  return stripVTControlCharacters(text).replaceAll('\0', '\ufffd')
}
