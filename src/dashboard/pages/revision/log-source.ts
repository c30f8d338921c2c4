/** Reads and follows the log of a revision, or of all revisions of a deployment, through the client without a cache. */
import type { Api } from '../../api/client.ts'
import { graphql, type ResultOf } from '../../api/graphql.ts'
import { problemOf } from '../../api/problem.ts'
import type { Line, LogPage, LogSource, PageArgs } from './log-buffer.ts'

export type LogType = 'build' | 'deploy'
type Level = Line['level']

export interface LogFilter {
  revisionId: string
  /** reads the log of all revisions of this deployment; null: of the revision */
  deploymentId: string | null
  type: LogType
  /** minimum */
  level: Level | null
  /** text that lines must contain */
  query: string | null
  /** fields of lines that are JSON objects: `name=value`, separated by commas */
  fields: string | null
  /** only lines at this time or later */
  startTime: string | null
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

const pageFragment = graphql(
  `
  fragment LogPageParts on LogConnection @_unmask {
    nodes {
      ...LogLineParts
    }
    incomplete
    pageInfo {
      hasNextPage
      hasPreviousPage
      startCursor
      endCursor
    }
  }
`,
  [lineFragment],
)

const revisionPage = graphql(
  `
  query LogPage($id: ID!, $type: LogType!, $level: LogLevel, $query: String, $fields: [String!], $startTime: DateTime, $first: Int, $last: Int, $after: String, $before: String) {
    owner: revision(id: $id) {
      id
      logs(type: $type, level: $level, query: $query, fields: $fields, startTime: $startTime, first: $first, last: $last, after: $after, before: $before) {
        ...LogPageParts
      }
    }
  }
`,
  [pageFragment],
)

const deploymentPage = graphql(
  `
  query DeploymentLogPage($id: ID!, $type: LogType!, $level: LogLevel, $query: String, $fields: [String!], $startTime: DateTime, $first: Int, $last: Int, $after: String, $before: String) {
    owner: deployment(id: $id) {
      id
      logs(type: $type, level: $level, query: $query, fields: $fields, startTime: $startTime, first: $first, last: $last, after: $after, before: $before) {
        ...LogPageParts
      }
    }
  }
`,
  [pageFragment],
)

const revisionLines = graphql(
  `
  subscription LogLines($id: ID!, $type: LogType!, $level: LogLevel, $query: String, $fields: [String!], $startTime: DateTime, $after: String) {
    line: revisionLogs(revisionId: $id, type: $type, level: $level, query: $query, fields: $fields, startTime: $startTime, after: $after) {
      ...LogLineParts
    }
  }
`,
  [lineFragment],
)

const deploymentLines = graphql(
  `
  subscription DeploymentLogLines($id: ID!, $type: LogType!, $level: LogLevel, $query: String, $fields: [String!], $startTime: DateTime, $after: String) {
    line: deploymentLogs(deploymentId: $id, type: $type, level: $level, query: $query, fields: $fields, startTime: $startTime, after: $after) {
      ...LogLineParts
    }
  }
`,
  [lineFragment],
)

export function logSource(api: Api, { revisionId, deploymentId, fields, ...filter }: LogFilter): LogSource {
  const variables = { ...filter, id: deploymentId ?? revisionId, fields: fields === null ? null : [fields] }
  const read = async (args: PageArgs): Promise<LogPage> => {
    const document = deploymentId === null ? revisionPage : deploymentPage
    const { data, error } = await api.uncached.query(document, { ...variables, ...args }).toPromise()
    if (error) throw new Error(problemOf(error).message)
    const { nodes, pageInfo, incomplete } = (data as ResultOf<typeof revisionPage>).owner!.logs
    const isForward = args.last === undefined
    // the server's time limit ended the search before it found a line
    if (incomplete && nodes.length === 0)
      return read({ ...args, ...(isForward ? { after: pageInfo.endCursor! } : { before: pageInfo.startCursor! }) })
    return { lines: nodes, hasMore: isForward ? pageInfo.hasNextPage : pageInfo.hasPreviousPage }
  }
  return {
    page: read,
    follow: (after, { line, end, failed }) =>
      api.subscribe(
        deploymentId === null ? revisionLines : deploymentLines,
        { ...variables, after },
        { next: (found) => line(found.line), end, failed: ({ message }) => failed(message) },
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
