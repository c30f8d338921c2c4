/** What a command does after a write that may have started a rollout: wait for its end, or say how. */
import type { Command, OptionValues } from '@commander-js/extra-typings'
import type { Client, Deployment } from '../../../client/index.ts'
import type { Result } from '../../terminal/command.ts'
import type { RemoteCall } from './call.ts'
import { addWaitOptions, followRevision, type WaitOptions } from './follow.ts'

export type RolloutOptions = WaitOptions & {
  /** false: `--no-wait` */
  wait: boolean
}

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
