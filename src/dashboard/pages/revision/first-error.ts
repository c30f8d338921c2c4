/**
 * Finds the first line of a log that reports an error. Most program output has no level, so its words decide. The
 * server's own lines have one: for example the line that ends a failed build or rollout.
 */
import type { Line, LogSource } from './log-buffer.ts'

/** Matches `TypeError: …`, `npm error code E404`, `a.ts(1,2): error TS2304`, `ERR! …`; not `no error`, `error.log`. */
const ERROR_PATTERN = /(?:^|[^\w./-])(?<!\b(?:no|0|without|on|if) )(?:\w*Error|error|ERROR|ERR!)(?=[:!\s\]),]|$)/

export const looksLikeError = (text: string): boolean => ERROR_PATTERN.test(text)

/** Lines containing `err` that are read. If none of them matches, the search ends. */
const MAX_CANDIDATES = 1000
const SEVERE: ReadonlySet<Line['level']> = new Set(['error', 'critical'])

/** `sourceOf` opens the log with a filter. Returns the cursor of the line; null: no error found. */
export async function findFirstError(
  sourceOf: (filter: { level: Line['level'] | null; query: string | null }) => LogSource,
): Promise<string | null> {
  const [severe, printed] = await Promise.all([
    // asks for 2: the line about removed lines passes every filter and may come first
    sourceOf({ level: 'error', query: null }).page({ first: 2 }),
    sourceOf({ level: null, query: 'err' }).page({ first: MAX_CANDIDATES }),
  ])
  const byLevel = severe.lines.find(({ level }) => SEVERE.has(level))
  const byText = printed.lines.find(({ message, level }) => SEVERE.has(level) || looksLikeError(message))
  if (!byLevel || !byText) return (byLevel ?? byText)?.cursor ?? null
  return byText.time <= byLevel.time ? byText.cursor : byLevel.cursor
}
