/** `logs`: prints the newest lines of a log; `-f` follows it. */
import type { Client, LogLine, LogOptions } from '../../client/index.ts'
import { UsageError } from '../terminal/command.ts'
import { remoteCommand } from './call.ts'

export const showLogs = remoteCommand({
  usage: 'NAME|ID [-f] [--type build|deploy] [--revision ID] [--last N] [--json]',
  summary: 'prints the newest lines of a log; -f follows it',
  details: `
  NAME|ID           the deployment
  -f, --follow      also prints new lines; with --type build and --revision until the build has ended
  --type T          build, or deploy: the rollout and the running agent (deploy)
  --revision ID     only the lines of this revision
  --last N          the number of newest lines, 1 to 1000 (100)
With -f and --json each line is one JSON document. A terminal shows the colours of lines, unless NO_COLOR is set.`,
  options: {
    follow: { type: 'boolean', short: 'f', default: false },
    type: { type: 'string', default: 'deploy' },
    revision: { type: 'string' },
    last: { type: 'string', default: '100' },
  },
  words: 1,
  async work({ client, values, words, print, colours }) {
    const { type, follow, revision: revisionId, json } = values
    if (type !== 'build' && type !== 'deploy') throw new UsageError('--type must be build or deploy.')
    const last = Number(values.last)
    if (!(Number.isInteger(last) && last >= 1 && last <= 1000))
      throw new UsageError('--last must be a whole number from 1 to 1000.')
    const deploymentId = (await client.find(words[0]!)).id
    const options = { deploymentId, revisionId, type, last } as const
    const format = (line: LogLine) => `${line.timestamp}  ${formatMessage(line, colours.out)}`
    if (!follow) {
      const logs = await newest(client, options)
      return { outcome: 'done', json: { logs }, text: logs.map(format).join('\n') }
    }
    for await (const line of client.followLogs(options)) print(json ? JSON.stringify(line) : format(line))
    return { outcome: 'done', json: null, text: '' }
  },
})

/** An older server sends no `ansi`. */
export const formatMessage = ({ message, ansi }: LogLine, inColours: boolean): string =>
  inColours ? (ansi ?? message) : message

async function newest({ api }: Client, { deploymentId, revisionId, type, last }: LogOptions): Promise<LogLine[]> {
  const query = { type, last }
  const path = { deployment_id: deploymentId }
  if (revisionId === undefined)
    return (await api.GET('/v2/deployments/{deployment_id}/logs', { params: { path, query } })).data!.logs
  const params = { path: { ...path, revision_id: revisionId }, query }
  return (await api.GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/logs', { params })).data!.logs
}
