/** Renders printed text as a terminal shows it, and as Postgres can store it: no NUL, no half of a surrogate pair. */
import { stripVTControlCharacters } from 'node:util'
import Anser from 'anser'

const CONTROL = /[^\P{Cc}\t\n]/u
const CONTROLS = new RegExp(CONTROL, 'gu')
const [ESC, BEL] = ['\u001b', '\u0007']
const STRING = new RegExp(`${ESC}[\\]PX^_][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)`, 'g')
/** Moves the cursor to the start of the line or clears it; programs use it like \r. */
const RETURN = new RegExp(`${ESC}\\[(?:[01]?G|2K)`, 'g')
const SGR = new RegExp(`${ESC}\\[([\\d;]*)m`)

export type Styles = readonly (readonly [at: number, style: string])[]

/**
 * `endStyle`: the style that continues in the next line. `styles`: null without styles. `isOverprinted`: the text replaced
 * earlier text of the line, in which a hidden value may have started.
 */
export interface VisibleLine {
  text: string
  styles: Styles | null
  endStyle: string
  isOverprinted: boolean
}

/**
 * Renders one line as a terminal shows it, without control characters. For a line that was overprinted, such as a progress bar,
 * this is its last state. `before`: the style that continues from the line before.
 */
export function renderLine(raw: string, before = ''): VisibleLine {
  if (before === '' && !CONTROL.test(raw)) return { text: raw, styles: null, endStyle: '', isOverprinted: false }
  let text = ''
  let styles: [at: number, style: string][] = []
  let style = before
  let isOver = false
  let isRest = false
  const add = (shown: string) => {
    if (shown === '') return
    if (isOver) [text, styles, isOver, isRest] = ['', [], false, isRest || text !== '']
    if ((styles.at(-1)?.[1] ?? '') !== style) styles.push([text.length, style])
    text += shown
  }
  const parts = raw.replace(STRING, '').replace(RETURN, '\r').split(SGR)
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 1) style = styleAfter(style, part)
    else
      for (const [nth, printed] of part.split('\r').entries()) {
        // earlier text is only replaced when new text is printed: after a line's last \r there may be none
        isOver ||= nth > 0
        add(printable(printed))
      }
  }
  return { text, styles: styles.length > 0 ? styles : null, endStyle: style, isOverprinted: isRest }
}

export const plainText = (raw: string): string => renderLine(raw).text

const printable = (printed: string) =>
  CONTROL.test(printed) ? stripVTControlCharacters(printed).replaceAll('\0', '\ufffd').replace(CONTROLS, '') : printed

/**
 * The last state of an overprinted line that has not ended yet, with the codes that still apply; any other line unchanged. Used
 * for lines that would be too long to keep.
 */
export function lastOverprint(raw: string): string {
  const line = raw.replace(RETURN, '\r')
  const at = line.replace(/\r+$/, '').lastIndexOf('\r')
  if (at < 0) return raw
  const style = renderLine(line.slice(0, at)).endStyle
  return `${style === '' ? '' : `${ESC}[${style}m`}${line.slice(at + 1)}`
}

/**
 * At most `most` characters, with U+FFFD for what can't be stored. Also for cluster messages: one that can't be stored would make
 * the server reject the heartbeat of all claims.
 */
export function storable(text: string, most?: number): string {
  return text.slice(0, most).replace(/\0|\p{Surrogate}/gu, '\ufffd')
}

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']
/** Excludes `blink`, and `hidden`, because printed text must stay readable. */
const DECORATIONS: Partial<Record<Anser.DecorationName, number>> = {
  bold: 1,
  dim: 2,
  italic: 3,
  underline: 4,
  reverse: 7,
  strikethrough: 9,
}

/**
 * The style ('' for none) after a code with these parameters, in text that has the style `before`. An empty parameter counts as
 * 0, which ends all styles.
 */
export function styleAfter(before: string, parameters: string): string {
  const codes = `${before};${parameters}m`
  const { fg, fg_truecolor, bg, bg_truecolor, decorations } = new Anser().processChunkJson(
    codes,
    { use_classes: true },
    true,
  )
  const decorated = Object.entries(DECORATIONS).filter(([name]) => decorations.includes(name as Anser.DecorationName))
  return [...decorated.map(([, code]) => code), ...colour(fg, fg_truecolor, 30), ...colour(bg, bg_truecolor, 40)].join(
    ';',
  )
}

/** `ansi-red`, `ansi-bright-red`, `ansi-palette-208`, or `ansi-truecolor` with `10, 20, 30`. `first`: the code of black. */
function colour(name: string | null, rgb: string | null, first: 30 | 40): (string | number)[] {
  if (name === null) return []
  if (name === 'ansi-truecolor') return [first + 8, 2, ...rgb!.split(', ')]
  const [, kind, which] = /^ansi-(?:(bright|palette)-)?(.+)$/.exec(name)!
  if (kind === 'palette') return [first + 8, 5, which!]
  return [first + (kind === 'bright' ? 60 : 0) + COLOURS.indexOf(which!)]
}
