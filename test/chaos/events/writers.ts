/**
 * Everything that moves revisions: callers that create them over REST, with a listener that works on them, and the
 * movers, which keep the pace.
 */
import type { Calls } from './calls.ts'
import { type Holder, startHolder } from './holder.ts'
import { type Movers, startMovers } from './movers.ts'
import type { Place } from './place.ts'
import type { Random } from './random.ts'
import { pause } from './waiting.ts'

export interface Writers {
  /** ids of the deployments that callers change, and of those that the movers change. */
  called: readonly string[]
  moved: readonly string[]
  /** Revisions created by callers, the newest last. */
  revisions: readonly { id: string; deploymentId: string }[]
  /** Starts. `ahead`: whether enough is written for now. */
  go(ahead: () => boolean): Promise<void>
  /** Resolves when all started work is over. */
  stop(): Promise<void>
}

export async function prepareWriters(
  place: Place,
  calls: Calls,
  random: Random,
  { called: callers, moved: movers }: { called: number; moved: number },
): Promise<Writers> {
  const listenerId = await calls.newListener('works')
  const { key } = await calls.newKey({ role: 'listener', listenerId })
  const called = await calls.newDeployments(callers, 'called', listenerId)
  // no worker serves this listener, so its deployments stay as the movers leave them
  const moved = await calls.newDeployments(movers, 'moved', await calls.newListener('absent'))
  for (const { id, revisionId } of moved)
    await calls.untilDone({ method: 'POST', path: `/v2/deployments/${id}/revisions/${revisionId}/interrupt` })

  const revisions: { id: string; deploymentId: string }[] = []
  const running: Promise<void>[] = []
  let stopped = false
  let holder: Holder | null = null
  let mover: Movers | null = null

  async function make(deploymentId: string, ahead: () => boolean): Promise<void> {
    for (let n = 1; !stopped; n++) {
      while (ahead() && !stopped) await pause(10)
      const body = { source_revision_config: { image_uri: `registry.example.com/agent:${n}` } }
      const path = `/v2/deployments/${deploymentId}/revisions`
      const made = await calls.once({ method: 'POST', path, body })
      if (made) revisions.push({ id: made.id, deploymentId })
      else await pause(50)
    }
  }

  return {
    called: called.map(({ id }) => id),
    moved: moved.map(({ id }) => id),
    revisions,
    async go(ahead) {
      holder = startHolder(place, { listenerId, key }, random)
      mover = await startMovers(place, moved, random, ahead)
      for (const { id } of called) running.push(make(id, ahead))
    },
    async stop() {
      stopped = true
      await Promise.all([...running, mover?.stop()])
      await holder?.stop()
    },
  }
}
