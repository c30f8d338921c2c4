/**
 * The first line of a log that tells what went wrong. Most of what programs print has no level: such a line is known by its words. Where
 * none says so it is the first one of that level, as ours which ends a build or a roll-out that has failed.
 */
import type { Line, LogSource } from './log-buffer.ts'

/** `TypeError: …`, `npm error code E404`, `a.ts(1,2): error TS2304`, `ERR! …`; but not `0 errors`, `error.log`, `no error`. */
const ERROR_PATTERN = /(?:^|[^\w./-])(?<!\b(?:no|0|without|on|if) )(?:\w*Error|error|ERROR|ERR!)(?=[:!\s\]),]|$)/

export const looksLikeError = (text: string): boolean => ERROR_PATTERN.test(text)

/** Lines that may say so; of so many one does, or none is looked for further on. */
const MAX_CANDIDATES = 1000
const SEVERE: ReadonlySet<Line['level']> = new Set(['error', 'critical'])

/** `sourceOf`: the log, with what is asked for of it. Answers the line's cursor; null: there is none. */
export async function findFirstError(
  sourceOf: (filter: { level: Line['level'] | null; query: string | null }) => LogSource,
): Promise<string | null> {
  const [severe, printed] = await Promise.all([
    // whatever is asked for, the line that says that others were removed may come along
    sourceOf({ level: 'error', query: null }).page({ first: 2 }),
    sourceOf({ level: null, query: 'err' }).page({ first: MAX_CANDIDATES }),
  ])
  const byLevel = severe.lines.find(({ level }) => SEVERE.has(level))
  const byText = printed.lines.find(({ message, level }) => SEVERE.has(level) || looksLikeError(message))
  if (!byLevel || !byText) return (byLevel ?? byText)?.cursor ?? null
  return byText.time <= byLevel.time ? byText.cursor : byLevel.cursor
}
