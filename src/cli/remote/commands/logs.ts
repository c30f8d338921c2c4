/** `logs`: prints the newest lines of a log, or all, also of those that a search finds; `-f` follows it. */
import { InvalidArgumentError, Option } from '@commander-js/extra-typings'
import { type Client, type LogLine, type LogOptions, logQuery } from '../../../client/index.ts'
import { EXIT_HELP, remoteCommand, repeatable, wholeNumber } from '../frame/call.ts'
import { formatMessage } from '../frame/follow.ts'

export const logs = remoteCommand({
  examples: [
    'logs my-agent -f',
    'logs my-agent --type build --last 1000',
    'logs my-agent --search timeout --level warning --since 2h',
    'logs my-agent --field status=500 --field user.id=42',
    'logs my-agent --search traceback --around 5',
    'logs my-agent --all --level error > errors.log',
  ],
  details: `With -f or --all, and --json, each line is one JSON document. A terminal shows the colours of lines, unless NO_COLOR is set.
${EXIT_HELP}`,
  define: (command) =>
    command
      .argument('<deployment>', 'by name or id')
      .option('-f, --follow', 'also print new lines; with --type build and --revision until the build has ended')
      .addOption(
        new Option('--type <type>', 'the build, or the rollout and the running agent')
          .choices(['build', 'deploy'] as const)
          .default('deploy' as const),
      )
      .option('--revision <id>', 'only the lines of this revision')
      .option('--search <text>', 'only lines that contain this text, in any case')
      .option('--field <name=value>', 'only lines that are JSON objects with this field; may be repeated', repeatable)
      .option('--replica <name>', 'only lines of this replica; lines have its name in brackets')
      .addOption(
        new Option('--level <level>', 'only lines of this level or a more severe one').choices([
          'debug',
          'info',
          'warning',
          'error',
          'critical',
        ] as const),
      )
      .option('--since <time>', 'only lines of the last 30s, 15m, 2h or 7d, or since 2026-01-31T12:00:00Z', startTime)
      .addOption(
        new Option('-C, --around <n>', 'also print the lines around each found line, which is then marked with >')
          .argParser(wholeNumber(0, 20))
          .conflicts('follow'),
      )
      .option('--last <n>', 'the number of newest lines', wholeNumber(1, 1000), 100)
      .addOption(new Option('--all', 'print all lines, oldest first').conflicts('follow')),
  async work(
    { client, print, colours, json },
    [nameOrId],
    { follow, all, revision, search, field, since, around, ...same },
  ) {
    const deploymentId = (await client.find(nameOrId)).id
    const filters = { query: search, fields: field, from: since, context: around }
    const options = { ...same, ...filters, deploymentId, revisionId: revision }
    const format = (line: LogLine) => {
      const mark = options.context ? (line.context ? '  ' : '> ') : ''
      return `${mark}${line.timestamp}  ${formatMessage(line, colours.out)}`
    }
    const printLine = (line: LogLine) => print(json ? JSON.stringify(line) : format(line))
    if (follow) for await (const line of client.followLogs(options)) printLine(line)
    else if (all)
      for await (const page of pages(client, options, 'asc', Number.POSITIVE_INFINITY)) page.forEach(printLine)
    else {
      const lines: LogLine[] = []
      for await (const page of pages(client, options, 'desc', options.last)) lines.push(...page)
      lines.reverse()
      return { outcome: 'done', json: { logs: lines }, text: lines.map(format).join('\n') }
    }
    return { outcome: 'done', json: null, text: '' }
  },
})

const UNIT_SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 }

function startTime(text: string): Date {
  const [, count, unit] = /^(\d+)([smhd])$/.exec(text) ?? []
  const time = unit ? new Date(Date.now() - Number(count) * UNIT_SECONDS[unit]! * 1_000) : new Date(text)
  if (!Number.isNaN(time.getTime())) return time
  throw new InvalidArgumentError('It must be a duration such as 15m, or a time such as 2026-01-31T12:00:00Z.')
}

type PageOptions = LogOptions & { context?: number | undefined }

/** At most `limit` lines. A search that reaches the server's time limit is continued. */
async function* pages(client: Client, options: PageOptions, order: 'asc' | 'desc', limit: number) {
  let offset: string | null | undefined
  for (let rest = limit; rest > 0 && offset !== null; ) {
    const size = Math.min(rest, 1000)
    const { logs, incomplete, next_offset } = await readPage(client, options, { order, limit: size, offset })
    yield logs
    if (logs.length < size && !incomplete) return
    rest -= logs.length
    offset = next_offset
  }
}

async function readPage(
  { api }: Client,
  { deploymentId: deployment_id, revisionId: revision_id, context, ...options }: PageOptions,
  window: { order: 'asc' | 'desc'; limit: number; offset: string | undefined },
) {
  const query = { ...logQuery({ deploymentId: deployment_id, ...options }), context, ...window }
  if (revision_id === undefined)
    return (await api.GET('/v2/deployments/{deployment_id}/logs', { params: { path: { deployment_id }, query } })).data!
  const params = { path: { deployment_id, revision_id }, query }
  return (await api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/logs', { params })).data!
}
