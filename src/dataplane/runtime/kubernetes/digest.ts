/** Tells whether something is the same as before, without keeping it: it may be large, and have secrets in it. */
import { createHash } from 'node:crypto'

export function digest(text: string): string {
  return createHash('sha1').update(text).digest('base64')
}
