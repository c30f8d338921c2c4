/** `logs`: prints the newest lines of a log, also of those that a search finds; `-f` follows it. */
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
  ],
  details: `With -f and --json each line is one JSON document. A terminal shows the colours of lines, unless NO_COLOR is set.
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
      .option('--last <n>', 'the number of newest lines', wholeNumber(1, 1000), 100),
  async work({ client, print, colours, json }, [nameOrId], { follow, revision, search, field, since, ...same }) {
    const deploymentId = (await client.find(nameOrId)).id
    const options = { ...same, deploymentId, revisionId: revision, query: search, fields: field, from: since }
    const format = (line: LogLine) => `${line.timestamp}  ${formatMessage(line, colours.out)}`
    if (!follow) {
      const lines = await newest(client, options)
      return { outcome: 'done', json: { logs: lines }, text: lines.map(format).join('\n') }
    }
    for await (const line of client.followLogs(options)) print(json ? JSON.stringify(line) : format(line))
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

/** Oldest first. A search that reaches the server's time limit is continued. */
async function newest(client: Client, options: LogOptions & { last: number }): Promise<LogLine[]> {
  const lines: LogLine[] = []
  let offset: string | undefined
  do {
    const page = await readPage(client, options, { order: 'desc', limit: options.last - lines.length, offset })
    lines.push(...page.logs)
    offset = page.incomplete ? (page.next_offset ?? undefined) : undefined
  } while (offset !== undefined && lines.length < options.last)
  return lines.reverse()
}

async function readPage(
  { api }: Client,
  options: LogOptions,
  window: { order: 'desc'; limit: number; offset: string | undefined },
) {
  const { deploymentId: deployment_id, revisionId: revision_id } = options
  const query = { ...logQuery(options), ...window }
  if (revision_id === undefined)
    return (await api.GET('/v2/deployments/{deployment_id}/logs', { params: { path: { deployment_id }, query } })).data!
  const params = { path: { deployment_id, revision_id }, query }
  return (await api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/logs', { params })).data!
}
