/** Text that programs print, as people see it and as Postgres can store it: that has no NUL and no half of a surrogate pair. */
import { stripVTControlCharacters } from 'node:util'
import { styleAfter } from './sgr.ts'

/** Characters that aren't seen; a line has no newline. */
const CONTROL = /[^\P{Cc}\t\n]/u
const CONTROLS = new RegExp(CONTROL, 'gu')
const [ESC, BEL] = ['\u001b', '\u0007']
/** Titles, links and the like: their text is for the terminal. */
const STRING = new RegExp(`${ESC}[\\]PX^_][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)`, 'g')
/** To the beginning of the line, or empties it: what programs do instead of a \r. */
const RETURN = new RegExp(`${ESC}\\[(?:[01]?G|2K)`, 'g')
/** Sets colours and the like. */
const SGR = new RegExp(`${ESC}\\[([\\d;]*)m`)

/** Where in a text which style begins, in order; '' ends a style. */
export type Styles = readonly (readonly [at: number, style: string])[]

/**
 * `after`: the style that goes on in the next line. `styles`: null where the text has none. `isRest`: something that was printed over
 * stood in front of it, where a hidden value may have begun.
 */
export interface VisibleLine {
  text: string
  styles: Styles | null
  endStyle: string
  isOverprinted: boolean
}

/**
 * One line as a terminal shows it, without control characters: of one that was printed over, as progress bars do it, what stood
 * there last. `before`: the style that the line before has left on.
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
        // what stands there goes when something comes in its place: behind the last \r of a line there is nothing
        isOver ||= nth > 0
        add(printable(printed))
      }
  }
  return { text, styles: styles.length > 0 ? styles : null, endStyle: style, isOverprinted: isRest }
}

/** One line without colours and control characters. */
export const plainText = (raw: string): string => renderLine(raw).text

const printable = (printed: string) =>
  CONTROL.test(printed) ? stripVTControlCharacters(printed).replaceAll('\0', '\ufffd').replace(CONTROLS, '') : printed

/**
 * The last state of a line that was printed over and has not ended yet, with the codes that may count for it; the whole of any
 * other one. For lines that would be too long to keep.
 */
export function lastOverprint(raw: string): string {
  const line = raw.replace(RETURN, '\r')
  const at = line.replace(/\r+$/, '').lastIndexOf('\r')
  if (at < 0) return raw
  const style = renderLine(line.slice(0, at)).endStyle
  return `${style === '' ? '' : `${ESC}[${style}m`}${line.slice(at + 1)}`
}

/**
 * At most `most` characters; what can't be stored becomes U+FFFD. Not only lines: one message of a cluster that can't be
 * stored would have the heartbeat of all claims refused.
 */
export function storable(text: string, most?: number): string {
  return text.slice(0, most).replace(/\0|\p{Surrogate}/gu, '\ufffd')
}
