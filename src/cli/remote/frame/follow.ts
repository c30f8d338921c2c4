/**
 * Commands of rollouts: their options, and the wait for a revision, which prints its progress and its outcome with the reason
 * and the last log lines.
 */
import type { Command, OptionValues } from '@commander-js/extra-typings'
import { type Client, type Deployment, type LogLine, type Revision, WaitTimeoutError } from '../../../client/index.ts'
import type { Outcome, Result } from '../../terminal/command.ts'
import { isUnavailable, type RemoteCall, seconds } from './call.ts'

export type WaitOptions = {
  timeout: number
  logs?: true
}

export const addWaitOptions = <A extends unknown[], O extends OptionValues>(command: Command<A, O>) =>
  command
    .option('--timeout <seconds>', 'how long to wait; the rollout continues after that', seconds, 1800)
    .option('--logs', 'print the build’s output while waiting') as Command<A, O & WaitOptions>

export const WAIT_DETAILS = `Exit codes: 0 deployed or done, 1 failed, 2 invalid arguments, 3 invalid credential, 4 still running at the timeout or when
the server became unreachable, 5 superseded by a newer rollout, 6 interrupted, 7 server unreachable before it accepted anything.`

/**
 * A failed revision, `--timeout` and an unreachable server are outcomes, not errors: the server accepted the rollout and continues
 * it without this command.
 */
export async function followRevision(
  call: RemoteCall,
  options: WaitOptions,
  deployment: Deployment,
  revisionId: string,
): Promise<Result> {
  const { client, say, progress } = call
  const startedAt = performance.now()
  const ids = { deploymentId: deployment.id, revisionId }
  const timeoutMs = options.timeout * 1000
  const output = options.logs ? showBuild(call, ids) : null
  let last: Revision | null = null
  const onChange = (revision: Revision) => {
    last = revision
    const { status, status_message } = revision
    const after = `${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s`
    say(`${status.padEnd(16)}${after}${status_message === null ? '' : `  ${status_message}`}`)
    progress(statusText(revision))
  }
  try {
    const ended = await client.waitUntilTerminal({ ...ids, timeoutMs, onChange })
    await output?.rest()
    return await resultOf(client, deployment, { revisionId, revision: ended })
  } catch (error) {
    if (isUnavailable(error)) return resultOf(client, deployment, { revisionId, revision: last, unreachable: error })
    if (!(error instanceof WaitTimeoutError)) throw error
    return resultOf(client, deployment, { revisionId, revision: last })
  } finally {
    output?.stop()
  }
}

/** How long to wait for the last lines after the revision's end. */
const LAST_OUTPUT_TIMEOUT_MS = 5_000

/** Prints the build's output. An error here does not change the outcome. */
function showBuild({ client, say, colours }: RemoteCall, ids: { deploymentId: string; revisionId: string }) {
  const stop = new AbortController()
  const shown = (async () => {
    const lines = client.followLogs({ ...ids, type: 'build', signal: stop.signal })
    for await (const line of lines) say(`  | ${formatMessage(line, colours.err)}`)
  })().catch((error) => {
    if (!stop.signal.aborted) say(`The build's output can't be read: ${error.message}`)
  })
  const timeout = () => new Promise<void>((resolve) => setTimeout(resolve, LAST_OUTPUT_TIMEOUT_MS).unref())
  return { rest: () => Promise.race([shown, timeout()]), stop: () => stop.abort() }
}

const OUTCOMES: Partial<Record<Revision['status'], Outcome>> = {
  DEPLOYED: 'deployed',
  CREATE_FAILED: 'failed',
  BUILD_FAILED: 'failed',
  DEPLOY_FAILED: 'failed',
  SKIPPED: 'superseded',
  INTERRUPTED: 'interrupted',
}

interface FollowState {
  revisionId: string
  /** null: not read yet */
  revision: Revision | null
  /** why the server is unreachable */
  unreachable?: Error
}

async function resultOf(
  client: Client,
  deployment: Deployment,
  { revisionId, revision, unreachable }: FollowState,
): Promise<Result> {
  const { name, id } = deployment
  const outcome = (revision && OUTCOMES[revision.status]) ?? 'running'
  const log = revision && outcome === 'failed' ? await lastLines(client, revision) : []
  const url = outcome === 'deployed' ? await urlOf(client, deployment) : null
  const reason = unreachable?.message ?? revision?.status_message ?? null
  return {
    outcome,
    json: {
      deployment_id: id,
      name,
      revision_id: revisionId,
      revision,
      url,
      log,
      ...(unreachable && { error: { code: 'UNREACHABLE', detail: unreachable.message } }),
    },
    text: [
      `${name}: ${revision ? describeRevision(revision) : `revision ${revisionId}`}${reason === null ? '' : `: ${reason}`}`,
      ...log.map((line) => `  | ${line}`),
      ...(url === null ? [] : [url]),
      ...(outcome === 'running'
        ? [`The rollout continues. To keep waiting: pilothouse wait ${id} --revision ${revisionId}`]
        : []),
    ].join('\n'),
  }
}

/** On an error, returns the URL before the rollout. */
const urlOf = (client: Client, { id, url }: Deployment): Promise<string | null> =>
  client.find(id).then(
    (deployment) => deployment.url,
    () => url,
  )

/** for example `revision 2 (ID) build failed` */
const describeRevision = (revision: Revision) => `revision ${revision.number} (${revision.id}) ${statusText(revision)}`

const statusText = ({ status }: Revision) => status.toLowerCase().replaceAll('_', ' ')

/** An older server sends no `ansi`. */
export const formatMessage = ({ message, ansi }: LogLine, inColours: boolean): string =>
  inColours ? (ansi ?? message) : message

const LAST_LINES = 20

/** Reads the log with the failure's cause. On an error, returns no lines. */
async function lastLines({ api }: Client, { deployment_id, id, status }: Revision): Promise<string[]> {
  const type = status === 'BUILD_FAILED' ? 'build' : 'deploy'
  const path = { deployment_id, revision_id: id }
  const { data } = await api
    .GET('/v2/deployments/{deployment_id}/revisions/{revision_id}/logs', {
      params: { path, query: { type, last: LAST_LINES } },
    })
    .catch(() => ({ data: undefined }))
  return data?.logs.map(({ message }) => message) ?? []
}

export type RolloutOptions = WaitOptions & {
  /** false: `--no-wait` */
  wait: boolean
}

/** What a command does after a write that may have started a rollout: wait for its end, or say how. */
export const addRolloutOptions = <A extends unknown[], O extends OptionValues>(command: Command<A, O>) =>
  addWaitOptions(command).option('--no-wait', 'don’t wait for the end of the rollout') as Command<A, O & RolloutOptions>

/** `revisionId`: the revision that the write created or rolled out; null: the change needs no rollout. */
export async function rolloutResult(
  call: RemoteCall,
  options: RolloutOptions,
  deployment: Deployment,
  revisionId: string | null,
): Promise<Result> {
  if (revisionId !== null && options.wait) return followRevision(call, options, deployment, revisionId)
  const { id, name } = deployment
  return {
    outcome: 'done',
    json: { deployment_id: id, name, revision_id: revisionId },
    text: revisionId === null ? `${name}: the change needs no rollout.` : `To wait: pilothouse wait ${id}`,
  }
}

const UNFINISHED_STATUSES = 'CREATING,QUEUED,AWAITING_BUILD,BUILDING,AWAITING_DEPLOY,DEPLOYING'
const TURN_STATUSES = ['AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING']

/** Returns the revision of the newest open rollout, which may redeploy an older revision; otherwise the latest revision. */
export async function newestRollout({ api }: Client, { id, latest_revision_id }: Deployment): Promise<string> {
  const params = { path: { deployment_id: id }, query: { status: UNFINISHED_STATUSES } }
  const { data } = await api.GET('/v2/deployments/{deployment_id}/revisions', { params })
  const { resources } = data!
  // at most one revision waits while another has its turn; the waiting one has the newer rollout
  const open = resources.find(({ status }) => !TURN_STATUSES.includes(status)) ?? resources[0]
  return open?.id ?? latest_revision_id!
}
