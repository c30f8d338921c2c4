/** The query string of a revision page: the log, its filters and a highlighted line. */
import { isRange, type RangeName } from '../../components/metrics/ranges.ts'

const TYPES = ['build', 'deploy'] as const
const LEVELS = ['info', 'warning', 'error'] as const

export interface RevisionSearch {
  log?: (typeof TYPES)[number]
  /** the cursor of a line */
  line?: string
  level?: (typeof LEVELS)[number]
  q?: string
  /** fields of JSON lines: `name=value`, separated by commas */
  fields?: string
  /** how far back the lines go */
  since?: RangeName
  /** the log of all revisions */
  all?: true
}

export function revisionSearch({ log, line, level, q, fields, since, all }: Record<string, unknown>): RevisionSearch {
  return {
    log: TYPES.find((one) => one === log),
    line: typeof line === 'string' || typeof line === 'number' ? String(line) : undefined,
    level: LEVELS.find((one) => one === level),
    q: typeof q === 'string' || typeof q === 'number' ? String(q) : undefined,
    fields: typeof fields === 'string' ? fields : undefined,
    since: isRange(since) ? since : undefined,
    all: all === true || undefined,
  }
}
