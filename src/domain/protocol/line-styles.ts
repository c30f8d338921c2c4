/** Colours of a log line as `position:SGR parameters` (ECMA-48): `5:31,9:`. Positions count UTF-16 code units. */

/** The format of the pairs. */
export const LINE_STYLES = /^\d{1,5}:[\d;]*(,\d{1,5}:[\d;]*)*$/

/** A line with longer styles has no colours after this point. */
export const MAX_STYLES_CHARS = 2000

/** The text with SGR sequences for a terminal. Null: the line has no colours. */
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

/** Starts with 0, which resets the previous style. */
const sequence = (style: string) => `\u001b[${style === '' ? '0' : `0;${style}`}m`
