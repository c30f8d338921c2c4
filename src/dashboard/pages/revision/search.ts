/** The query string of a revision page: the log, its filters and a highlighted line. */
const TYPES = ['build', 'deploy'] as const
const LEVELS = ['info', 'warning', 'error'] as const

export interface RevisionSearch {
  log?: (typeof TYPES)[number]
  /** the cursor of a line */
  line?: string
  level?: (typeof LEVELS)[number]
  q?: string
}

export function revisionSearch({ log, line, level, q }: Record<string, unknown>): RevisionSearch {
  return {
    log: TYPES.find((one) => one === log),
    line: typeof line === 'string' || typeof line === 'number' ? String(line) : undefined,
    level: LEVELS.find((one) => one === level),
    q: typeof q === 'string' || typeof q === 'number' ? String(q) : undefined,
  }
}
