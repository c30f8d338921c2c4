/** Reads and follows a revision's log through the client without a cache. */
import type { Api } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { problemOf } from '../../api/problem.ts'
import type { Line, LogPage, LogSource, PageArgs } from './log-buffer.ts'

export type LogType = 'build' | 'deploy'
type Level = Line['level']

export interface LogFilter {
  revisionId: string
  type: LogType
  /** minimum */
  level: Level | null
  /** text that lines must contain */
  query: string | null
}

const lineFragment = graphql(`
  fragment LogLineParts on LogLine @_unmask {
    cursor
    time
    level
    message
    ansi
    attempt
  }
`)

const pageQuery = graphql(
  `
  query LogPage($revisionId: ID!, $type: LogType!, $level: LogLevel, $query: String, $first: Int, $last: Int, $after: String, $before: String) {
    revision(id: $revisionId) {
      id
      logs(type: $type, level: $level, query: $query, first: $first, last: $last, after: $after, before: $before) {
        nodes {
          ...LogLineParts
        }
        pageInfo {
          hasNextPage
          hasPreviousPage
        }
      }
    }
  }
`,
  [lineFragment],
)

const linesSubscription = graphql(
  `
  subscription LogLines($revisionId: ID!, $type: LogType!, $level: LogLevel, $query: String, $after: String) {
    revisionLogs(revisionId: $revisionId, type: $type, level: $level, query: $query, after: $after) {
      ...LogLineParts
    }
  }
`,
  [lineFragment],
)

export function logSource(api: Api, log: LogFilter): LogSource {
  return {
    async page(args: PageArgs): Promise<LogPage> {
      const { data, error } = await api.uncached.query(pageQuery, { ...log, ...args }).toPromise()
      if (error) throw new Error(problemOf(error).message)
      const { nodes, pageInfo } = (data as ResultOf<typeof pageQuery>).revision!.logs
      return { lines: nodes, hasMore: args.last === undefined ? pageInfo.hasNextPage : pageInfo.hasPreviousPage }
    },
    follow: (after, { line, end, failed }) =>
      api.subscribe(
        linesSubscription,
        { ...log, after },
        { next: ({ revisionLogs }) => line(revisionLogs), end, failed: ({ message }) => failed(message) },
      ),
  }
}

/** Reads the whole log as text. `onProgress` gets the number of lines read so far. */
export async function readWholeLog(api: Api, log: LogFilter, onProgress: (lines: number) => void): Promise<Blob> {
  const source = logSource(api, log)
  const parts: string[] = []
  let lines = 0
  let after: string | undefined
  for (let more = true; more; ) {
    const page = await source.page({ first: 1000, after })
    parts.push(page.lines.map(({ time, level, message }) => `${time} ${level.padEnd(8)} ${message}\n`).join(''))
    lines += page.lines.length
    onProgress(lines)
    after = page.lines.at(-1)?.cursor ?? after
    more = page.hasMore
  }
  return new Blob(parts, { type: 'text/plain' })
}
