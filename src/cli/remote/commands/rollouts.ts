/** Rollouts of a deployment: `redeploy`, `rollback`, `interrupt` and `wait`; `restart` runs the active revision again without one. */
import { type Deployment, WaitTimeoutError } from '../../../client/index.ts'
import type { Outcome, Result } from '../../terminal/command.ts'
import { isUnavailable, remoteCommand, seconds } from '../frame/call.ts'
import {
  addRolloutOptions,
  addWaitOptions,
  followRevision,
  newestRollout,
  rolloutResult,
  WAIT_DETAILS,
} from '../frame/follow.ts'

export const redeploy = remoteCommand({
  examples: ['redeploy my-agent', 'redeploy my-agent --revision 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1 --no-wait'],
  details: WAIT_DETAILS,
  define: (command) =>
    addRolloutOptions(
      command
        .argument('<deployment>', 'by name or id')
        .option('--revision <id>', 'the revision; by default the latest'),
    ),
  async work(call, [nameOrId], options) {
    const { client, say } = call
    const deployment = await client.find(nameOrId)
    const revision_id = options.revision ?? deployment.latest_revision_id!
    await client.api.POST('/v2/deployments/{deployment_id}/revisions/{revision_id}/redeploy', {
      params: { path: { deployment_id: deployment.id, revision_id } },
    })
    say(`${deployment.name}: redeploying revision ${revision_id}`)
    return rolloutResult(call, options, deployment, revision_id)
  },
})

export const rollback = remoteCommand({
  examples: ['rollback my-agent', 'rollback my-agent --to 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1 --no-wait'],
  details: WAIT_DETAILS,
  define: (command) =>
    addRolloutOptions(
      command
        .argument('<deployment>', 'by name or id')
        .option(
          '--to <revision>',
          'the revision; by default the newest deployed one that is older than the active one',
        ),
    ),
  async work(call, [nameOrId], options) {
    const { client, say } = call
    const deployment = await client.find(nameOrId)
    const revisionId = await client.rollback({ deploymentId: deployment.id, revisionId: options.to })
    say(`${deployment.name}: redeploying revision ${revisionId}`)
    return rolloutResult(call, options, deployment, revisionId)
  },
})

export const interrupt = remoteCommand({
  examples: ['interrupt my-agent', 'interrupt my-agent --revision 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1'],
  details: `The revision that serves continues to serve.
Exit codes: 0 interrupted, 1 the revision has ended already, 2 invalid arguments, 3 invalid credential, 7 server unreachable.`,
  define: (command) =>
    command
      .argument('<deployment>', 'by name or id')
      .option('--revision <id>', 'the revision; by default that of the newest rollout'),
  async work({ client }, [nameOrId], options) {
    const deployment = await client.find(nameOrId)
    const revision_id = options.revision ?? (await newestRollout(client, deployment))
    const { data: revision } = await client.api.POST(
      '/v2/deployments/{deployment_id}/revisions/{revision_id}/interrupt',
      { params: { path: { deployment_id: deployment.id, revision_id } } },
    )
    return {
      outcome: 'done',
      json: { deployment_id: deployment.id, revision },
      text: `${deployment.name}: interrupted revision ${revision_id}`,
    }
  },
})

export const wait = remoteCommand({
  examples: ['wait my-agent', 'wait my-agent --revision 0198c5b4-7a52-7cc1-b7a3-6f0d52a4cbf1 --timeout 600'],
  details: WAIT_DETAILS,
  define: (command) =>
    addWaitOptions(
      command
        .argument('<deployment>', 'by name or id')
        .option('--revision <id>', 'the revision; by default that of the newest rollout'),
    ),
  async work(call, [nameOrId], options) {
    const deployment = await call.client.find(nameOrId)
    return followRevision(call, options, deployment, options.revision ?? (await newestRollout(call.client, deployment)))
  },
})

export const restart = remoteCommand({
  examples: ['restart my-agent', 'restart my-agent --no-wait'],
  details: `Exit codes: 0 done, 1 failed, 2 invalid arguments, 3 invalid credential, 4 not done at the timeout or when the server became
unreachable, 6 the deployment was deleted, 7 server unreachable before it accepted anything.`,
  define: (command) =>
    command
      .argument('<deployment>', 'by name or id')
      .option('--timeout <seconds>', 'how long to wait; the restart continues after that', seconds, 600)
      .option('--no-wait', 'don’t wait until the new processes serve'),
  async work({ client, say, progress }, [nameOrId], options) {
    const { id, name } = await client.find(nameOrId)
    const params = { path: { deployment_id: id } }
    const { data } = await client.api.POST('/v2/deployments/{deployment_id}/restart', { params })
    const requested = data as Deployment
    say(`${name}: restarting revision ${requested.active_revision_id}`)
    if (!options.wait) return restartResult(requested, 'done')
    let last = requested
    const onChange = (deployment: Deployment) => {
      last = deployment
      progress(deployment.health?.message ?? 'the old processes serve until the new ones are ready')
    }
    try {
      const ended = await client.waitUntilRestarted({ deploymentId: id, timeoutMs: options.timeout * 1000, onChange })
      return restartResult(ended, ended.status === 'AWAITING_DELETE' ? 'interrupted' : 'done')
    } catch (error) {
      if (!(error instanceof WaitTimeoutError) && !isUnavailable(error)) throw error
      return restartResult(last, 'running', isUnavailable(error) ? error : undefined)
    }
  },
})

const SENTENCES: Partial<Record<Outcome, string>> = {
  done: 'restarted',
  interrupted: 'the deployment was deleted',
  running: 'the restart is not done yet, and continues',
}

function restartResult(deployment: Deployment, outcome: Outcome, unreachable?: Error): Result {
  const { id, name, active_revision_id, restarted_at, restarting, health, url } = deployment
  const sentence = outcome === 'done' && restarting ? 'the restart was requested' : SENTENCES[outcome]!
  const reason = unreachable?.message ?? (outcome === 'running' ? health?.message : null) ?? null
  return {
    outcome,
    json: {
      ...{ deployment_id: id, name, revision_id: active_revision_id, restarted_at, restarting, url, health },
      ...(unreachable && { error: { code: 'UNREACHABLE', detail: unreachable.message } }),
    },
    text: `${name}: ${sentence}${reason === null ? '' : `: ${reason}`}`,
  }
}
