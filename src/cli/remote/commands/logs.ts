/** `logs`: prints the newest lines of a log; `-f` follows it. */
import { Option } from '@commander-js/extra-typings'
import type { Client, LogLine, LogOptions } from '../../../client/index.ts'
import { EXIT_HELP, remoteCommand, wholeNumber } from '../frame/call.ts'
import { formatMessage } from '../frame/follow.ts'

export const logs = remoteCommand({
  examples: ['logs my-agent -f', 'logs my-agent --type build --last 1000'],
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
      .option('--last <n>', 'the number of newest lines', wholeNumber(1, 1000), 100),
  async work({ client, print, colours, json }, [nameOrId], { follow, type, revision: revisionId, last }) {
    const deploymentId = (await client.find(nameOrId)).id
    const options = { deploymentId, revisionId, type, last } as const
    const format = (line: LogLine) => `${line.timestamp}  ${formatMessage(line, colours.out)}`
    if (!follow) {
      const lines = await newest(client, options)
      return { outcome: 'done', json: { logs: lines }, text: lines.map(format).join('\n') }
    }
    for await (const line of client.followLogs(options)) print(json ? JSON.stringify(line) : format(line))
    return { outcome: 'done', json: null, text: '' }
  },
})

async function newest({ api }: Client, { deploymentId, revisionId, type, last }: LogOptions): Promise<LogLine[]> {
  const query = { type, last }
  const path = { deployment_id: deploymentId }
  if (revisionId === undefined)
    return (await api.GET('/v2/deployments/{deployment_id}/logs', { params: { path, query } })).data!.logs
  const params = { path: { ...path, revision_id: revisionId }, query }
  return (await api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/logs', { params })).data!.logs
}
