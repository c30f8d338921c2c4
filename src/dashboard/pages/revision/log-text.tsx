/** What a line of a log says, in the colours it was printed in, and what is searched for in it. */
import Anser, { type AnserJsonEntry } from 'anser'
import type { CSSProperties, ReactNode } from 'react'
import type { Line } from './log-buffer.ts'
import classes from './log-colours.module.css'

interface LogTextProps {
  line: Pick<Line, 'message' | 'ansi'>
  /** marked, also where its colour changes; null: nothing */
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

/** Of the sixteen colours of terminals by their names, which are those of classes; of all others as a value. */
function styleOf(part: AnserJsonEntry): { className: string; style?: CSSProperties } {
  const { fg, bg, decorations, fg_truecolor } = part
  // of a part in reverse anser has changed the two already
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

/** `ansi-palette-208`: one of 256, as red, green and blue; null: it is none of them. */
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

/** A piece of a line that begins at `start`, with what of the places is in it. */
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
