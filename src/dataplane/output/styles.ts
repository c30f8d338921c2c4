/**
 * Where in a line a style begins, while the line is cut and masked. A mask has no style of its own, and all that changes within
 * what it hides changes behind it: so nothing tells how long that was.
 */
import { MOST_STYLES } from '../../domain/protocol/line-styles.ts'
import type { Span } from './mask-scan.ts'
import type { Styles } from './terminal-text.ts'

/** Of the text in which each of the ranges (in order, apart from each other) has become a mask of so many characters. */
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

/** As they are sent and stored, of a text with so many characters; null: it has none. */
export function encodeStyles(styles: Styles, length: number): string | null {
  let all = ''
  let last = ''
  for (const [i, [at, style]] of styles.entries()) {
    if (at >= length) break
    // of two at one place the later one counts
    if (style === last || styles[i + 1]?.[0] === at) continue
    const item = `${all && ','}${at}:${style}`
    // there is always room to end one
    if (all.length + item.length > MOST_STYLES - 10) return last === '' ? all : `${all},${at}:`
    all += item
    last = style
  }
  return all || null
}

/** Of the text behind so many more characters. */
export const shiftStyles = (styles: string | null, characters: number): string | null =>
  styles === null
    ? null
    : styles.replace(/(^|,)(\d+)/g, (_, before: string, at: string) => `${before}${Number(at) + characters}`)
