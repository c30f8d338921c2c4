/**
 * The colours of a log line, as `position:style` pairs: `5:31,9:,12:1;38;5;208`. A style has the parameters of one SGR sequence (ECMA-48).
 * It replaces the style before it; an empty style resets. Positions count UTF-16 code units.
 */

/** What they look like. */
export const LINE_STYLES = /^\d{1,5}:[\d;]*(,\d{1,5}:[\d;]*)*$/

/** characters; a line that has more of them is without colours from there on */
export const MAX_STYLES_CHARS = 2000

/** The text as terminals take it: with these sequences, and no others. Null: it has none. */
export function inColours(text: string, styles: string | null): string | null {
  if (styles === null) return null
  let shown = ''
  let from = 0
  let last = ''
  for (const change of styles.split(',')) {
    const [position, style = ''] = change.split(':')
    const at = Number(position)
    if (at >= text.length) break
    if (at < from) continue
    shown += `${text.slice(from, at)}${sequence(style)}`
    from = at
    last = style
  }
  return shown + text.slice(from) + (last === '' ? '' : sequence(''))
}

/** It begins with 0, so that nothing of the style before is left. */
const sequence = (style: string) => `\u001b[${style === '' ? '0' : `0;${style}`}m`
