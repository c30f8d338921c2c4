/** The query strings of a revision's page (the log, its filters and a highlighted line) and of the comparison of two revisions. */
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

export interface CompareSearch {
  from?: string
  to?: string
}

const id = (value: unknown) => (typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value) ? value : undefined)

/**
 * The query string: two revision ids. Default: the active (or previous) and the latest one. `from=before`: the one before
 * `to`.
 */
export const compareSearch = ({ from, to }: Record<string, unknown>): CompareSearch => ({
  from: from === 'before' ? from : id(from),
  to: id(to),
})
