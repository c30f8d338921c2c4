/** `restart`: runs the active revision again in new processes, and waits until they serve. */
import { type Deployment, WaitTimeoutError } from '../../../client/index.ts'
import type { Outcome, Result } from '../../terminal/command.ts'
import { isUnavailable, remoteCommand, seconds } from '../frame/call.ts'

export const restart = remoteCommand({
  examples: ['restart my-agent', 'restart my-agent --no-wait'],
  details: `Exit codes: 0 done, 1 failed, 2 invalid arguments, 3 invalid credential, 4 not done at the timeout or when the server became
unreachable, 6 the deployment was deleted, 7 server unreachable before it accepted anything.`,
  define: (command) =>
    command
      .argument('<name>', 'the deployment, by name or id')
      .option('--timeout <seconds>', 'how long to wait; the restart continues after that', seconds, 600)
      .option('--no-wait', 'don’t wait until the new processes serve'),
  async work({ client, say, progress }, [nameOrId], options) {
    const { id, name } = await client.find(nameOrId)
    const params = { path: { deployment_id: id } }
    const { data } = await client.api.POST('/v2/deployments/{deployment_id}/restart', { params })
    const requested = data as Deployment
    say(`${name}: restarting revision ${requested.active_revision_id}`)
    if (!options.wait) return resultOf(requested, 'done')
    let last = requested
    const onChange = (deployment: Deployment) => {
      last = deployment
      progress(deployment.health?.message ?? 'the old processes serve until the new ones are ready')
    }
    try {
      const ended = await client.waitUntilRestarted({ deploymentId: id, timeoutMs: options.timeout * 1000, onChange })
      return resultOf(ended, ended.status === 'AWAITING_DELETE' ? 'interrupted' : 'done')
    } catch (error) {
      if (!(error instanceof WaitTimeoutError) && !isUnavailable(error)) throw error
      return resultOf(last, 'running', isUnavailable(error) ? error : undefined)
    }
  },
})

const SENTENCES: Partial<Record<Outcome, string>> = {
  done: 'restarted',
  interrupted: 'the deployment was deleted',
  running: 'the restart is not done yet, and continues',
}

function resultOf(deployment: Deployment, outcome: Outcome, unreachable?: Error): Result {
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
