/** The text of a log line in its terminal colours, with search matches marked. */
import Anser, { type AnserJsonEntry } from 'anser'
import type { CSSProperties, ReactNode } from 'react'
import type { Line } from './log-buffer.ts'
import classes from './log-colours.module.css'

interface LogTextProps {
  line: Pick<Line, 'message' | 'ansi'>
  /** text to mark, also across colour changes; null: none */
  query: string | null
}

export function LogText({ line: { message, ansi }, query }: LogTextProps) {
  const found = query ? findMatches(message, query) : []
  if (ansi === null) return highlightMatches(message, 0, found)
  let at = 0
  return Anser.ansiToJson(ansi, { use_classes: true, remove_empty: true }).map((part) => {
    const from = at
    at += part.content.length
    return (
      <span key={from} {...styleOf(part)}>
        {highlightMatches(part.content, from, found)}
      </span>
    )
  })
}

/** The 16 terminal colours are CSS classes; all others are inline values. */
function styleOf(part: AnserJsonEntry): { className: string; style?: CSSProperties } {
  const { fg, bg, decorations, fg_truecolor } = part
  // anser has already swapped the two colours of an inverted part
  const { isInverted } = part as AnserJsonEntry & { isInverted: boolean }
  const names = [...decorations.map((name) => `ansi-${name}`), isInverted && 'ansi-reverse']
  const colour = isInverted ? bg : fg
  const value = colour === 'ansi-truecolor' ? fg_truecolor : paletteColour(colour)
  const ground = isInverted ? null : bg && `${bg}-bg`
  const className = [classes.part, value ? classes.other : colour, ground && `ansi-ground ${ground}`, ...names]
    .filter(Boolean)
    .join(' ')
  return value ? { className, style: { '--ansi': `rgb(${value})` } as CSSProperties } : { className }
}

/** The `r, g, b` of a palette colour such as `ansi-palette-208`; null for other names. */
function paletteColour(name: string | null): string | null {
  const [, index] = /^ansi-palette-(\d+)$/.exec(name ?? '') ?? []
  return index ? Anser.ansiToJson(`\u001b[38;5;${index}mx`)[1]!.fg : null
}

type Match = readonly [from: number, to: number]

function findMatches(text: string, query: string): Match[] {
  const found: Match[] = []
  const [hay, needle] = [text.toLowerCase(), query.toLowerCase()]
  for (let at = hay.indexOf(needle); at !== -1; at = hay.indexOf(needle, at + needle.length))
    found.push([at, at + needle.length])
  return found
}

/** Marks the matches inside a piece of a line. `start`: offset of the piece in the line. */
function highlightMatches(text: string, start: number, found: readonly Match[]): ReactNode {
  const parts: ReactNode[] = []
  let end = 0
  for (const place of found) {
    const [from, to] = place.map((at) => Math.min(Math.max(at - start, 0), text.length)) as [number, number]
    if (from === to) continue
    parts.push(text.slice(end, from), <mark key={from}>{text.slice(from, to)}</mark>)
    end = to
  }
  return parts.length > 0 ? [...parts, text.slice(end)] : text
}
