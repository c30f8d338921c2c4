/**
 * Finds the first line of a log that reports an error. Most program output has no level, so its words decide. The
 * server's own lines have one: for example the line that ends a failed build or rollout.
 */

import type { graphql } from '../../api/graphql.ts'
import type { Line, LogSource } from './log-buffer.ts'
import type { LogType } from './log-source.ts'

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

/** The revision whose log is shown. */
export interface LoggedRevision {
  status: ReturnType<typeof graphql.scalar<'RevisionStatus'>>
  source: ReturnType<typeof graphql.scalar<'DeploymentSource'>>
  /** cause of the status; lines after the first are program output */
  statusMessage: string | null
}

const WAITING_TEXT = {
  build: 'No output yet. Lines appear as the build prints them.',
  deploy: 'No output yet. Lines appear as the agent prints them.',
}

/** `ended`: the server reports that the log is complete. */
export function emptyLogText(type: LogType, { status, source, statusMessage }: LoggedRevision, ended: boolean): string {
  const cause = statusMessage?.split('\n')[0] ?? ''
  const withCause = (text: string) => (cause ? `${text} ${cause}` : text)
  if (type === 'build' && source.endsWith('_container')) return 'Images are deployed without a build.'
  switch (status) {
    case 'CREATE_FAILED':
      return withCause(type === 'build' ? 'The build never started.' : 'The agent never started.')
    case 'BUILD_FAILED':
      return withCause(type === 'build' ? 'The build failed before it printed anything.' : 'The agent never started.')
    case 'DEPLOY_FAILED':
      return type === 'build' ? 'The build printed nothing.' : withCause('The agent printed nothing.')
    case 'INTERRUPTED':
    case 'SKIPPED':
      return withCause('No output.')
    case 'AWAITING_DEPLOY':
    case 'DEPLOYING':
    case 'DEPLOYED':
      return type === 'build' ? 'The build printed nothing.' : WAITING_TEXT.deploy
    default:
      return ended ? 'No output.' : WAITING_TEXT[type]
  }
}
