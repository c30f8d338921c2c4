/**
 * Moves the positions of styles when a line is masked or cut. A mask has no style, and style changes inside a hidden range take
 * effect after it, so they don't reveal the range's length.
 */
import { MAX_STYLES_CHARS } from '../../domain/protocol/line-styles.ts'
import type { Span } from './mask-forms.ts'
import type { Styles } from './terminal-text.ts'

/** Positions after each hidden range (ordered, not overlapping) was replaced by a mask of `mask` characters. */
export function moveToMaskedText(styles: Styles, hidden: readonly Span[], mask: number): Styles {
  const moved: [number, string][] = []
  let next = 0
  let style = ''
  let shift = 0
  for (const [from, to] of hidden) {
    for (; next < styles.length && styles[next]![0] < from; next++) {
      style = styles[next]![1]
      moved.push([styles[next]![0] + shift, style])
    }
    for (; next < styles.length && styles[next]![0] <= to; next++) style = styles[next]![1]
    moved.push([from + shift, ''])
    shift += mask - (to - from)
    moved.push([to + shift, style])
  }
  for (; next < styles.length; next++) moved.push([styles[next]![0] + shift, styles[next]![1]])
  return moved
}

/** Encoded as sent and stored, for a text of `length` characters; null: no styles. */
export function encodeStyles(styles: Styles, length: number): string | null {
  let all = ''
  let last = ''
  for (const [i, [at, style]] of styles.entries()) {
    if (at >= length) break
    if (style === last || styles[i + 1]?.[0] === at) continue
    const item = `${all && ','}${at}:${style}`
    // leave room to end a style
    if (all.length + item.length > MAX_STYLES_CHARS - 10) return last === '' ? all : `${all},${at}:`
    all += item
    last = style
  }
  return all || null
}

export const shiftStyles = (styles: string | null, characters: number): string | null =>
  styles === null
    ? null
    : styles.replace(/(^|,)(\d+)/g, (_, before: string, at: string) => `${before}${Number(at) + characters}`)
