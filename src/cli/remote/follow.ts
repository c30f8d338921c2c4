/** Waits for a revision, tells its progress, and says how it ended: with the reason, and the last lines of the log that tells more. */
import { type Client, type Deployment, type Revision, WaitTimeoutError } from '../../client/index.ts'
import { type Call, isAway, type Outcome, type Result, seconds } from './call.ts'
import { textOf } from './logs.ts'

/** Of the commands that wait. */
export const WAIT_OPTIONS = {
  timeout: { type: 'string', default: '1800' },
  logs: { type: 'boolean', default: false },
} as const

export const WAIT_HELP = `  --timeout S       seconds to wait (1800); what was begun goes on after that
  --logs            show the build's output while waiting`

type Waiting = Call<typeof WAIT_OPTIONS>

/**
 * Never throws for the end of the revision, for `--timeout`, or for a server that went away: those are outcomes. The rollout was
 * accepted, so it goes on without this command.
 */
export async function followRevision(call: Waiting, deployment: Deployment, revisionId: string): Promise<Result> {
  const { client, values, say } = call
  const began = performance.now()
  const which = { deploymentId: deployment.id, revisionId }
  const timeoutMs = seconds('--timeout', values.timeout) * 1000
  const output = values.logs ? showBuild(call, which) : null
  let last: Revision | null = null
  const onChange = (revision: Revision) => {
    last = revision
    const { status, status_message } = revision
    const after = `${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s`
    say(`${status.padEnd(16)}${after}${status_message === null ? '' : `  ${status_message}`}`)
  }
  try {
    const ended = await client.waitUntilTerminal({ ...which, timeoutMs, onChange })
    await output?.rest()
    return await resultOf(client, deployment, { revisionId, revision: ended })
  } catch (error) {
    if (isAway(error)) return resultOf(client, deployment, { revisionId, revision: last, away: error })
    if (!(error instanceof WaitTimeoutError)) throw error
    return resultOf(client, deployment, { revisionId, revision: last })
  } finally {
    output?.stop()
  }
}

/** ms for the last lines to come after the revision has ended */
const REST_MS = 5_000

/** Prints what the build prints. Best effort: the outcome does not depend on it. */
function showBuild({ client, say, colours }: Waiting, which: { deploymentId: string; revisionId: string }) {
  const stop = new AbortController()
  const shown = (async () => {
    const lines = client.followLogs({ ...which, type: 'build', signal: stop.signal })
    for await (const line of lines) say(`  | ${textOf(line, colours.err)}`)
  })().catch((error) => {
    if (!stop.signal.aborted) say(`The build's output can't be shown: ${error.message}`)
  })
  const late = () => new Promise<void>((resolve) => setTimeout(resolve, REST_MS).unref())
  return { rest: () => Promise.race([shown, late()]), stop: () => stop.abort() }
}

const OUTCOMES: Partial<Record<Revision['status'], Outcome>> = {
  DEPLOYED: 'deployed',
  CREATE_FAILED: 'failed',
  BUILD_FAILED: 'failed',
  DEPLOY_FAILED: 'failed',
  SKIPPED: 'superseded',
  INTERRUPTED: 'interrupted',
}

interface Seen {
  revisionId: string
  /** null: the server said nothing of it */
  revision: Revision | null
  /** why the server can't be asked any more */
  away?: Error
}

async function resultOf(client: Client, deployment: Deployment, { revisionId, revision, away }: Seen): Promise<Result> {
  const { name, id } = deployment
  const outcome = (revision && OUTCOMES[revision.status]) ?? 'running'
  const log = revision && outcome === 'failed' ? await lastLines(client, revision) : []
  const url = outcome === 'deployed' ? await urlOf(client, deployment) : null
  const why = away?.message ?? revision?.status_message ?? null
  return {
    outcome,
    json: {
      deployment_id: id,
      name,
      revision_id: revisionId,
      revision,
      url,
      log,
      ...(away && { error: { code: 'UNREACHABLE', detail: away.message } }),
    },
    text: [
      `${name}: ${revision ? said(revision) : `revision ${revisionId}`}${why === null ? '' : `: ${why}`}`,
      ...log.map((line) => `  | ${line}`),
      ...(url === null ? [] : [url]),
      ...(outcome === 'running' ? [`It goes on. To wait on: npm run cli -- wait ${id} --revision ${revisionId}`] : []),
    ].join('\n'),
  }
}

/** Best effort: the outcome is known without it. */
const urlOf = (client: Client, { id, url }: Deployment): Promise<string | null> =>
  client.find(id).then(
    (deployment) => deployment.url,
    () => url,
  )

/** `revision 2 (ID) build failed` */
const said = ({ number, id, status }: Revision) =>
  `revision ${number} (${id}) ${status.toLowerCase().replaceAll('_', ' ')}`

const LAST = 20

/** Of the log that tells why it failed. Best effort: the outcome is known without it. */
async function lastLines({ api }: Client, { deployment_id, id, status }: Revision): Promise<string[]> {
  const type = status === 'BUILD_FAILED' ? 'build' : 'deploy'
  const path = { deployment_id, revision_id: id }
  const { data } = await api
    .GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/logs', {
      params: { path, query: { type, last: LAST } },
    })
    .catch(() => ({ data: undefined }))
  return data?.logs.map(({ message }) => message) ?? []
}
