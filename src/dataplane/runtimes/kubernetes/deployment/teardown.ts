/**
 * Removes everything of a deployment from its namespace, and waits until it is gone. The Secret of the database
 * goes last: by its token every holder knows who has the deployment. Repeatable.
 */

import type { Notifier } from '../../../../platform/async/notifier.ts'
import { backoff } from '../../../../platform/async/retry.ts'
import { StepFailure } from '../../../output/failure.ts'
import { ApiRefused, Unreachable } from '../api-server/errors.ts'
import type { Cluster, Fence } from '../cluster/cluster.ts'
import { namesOf } from '../objects/names.ts'
import type { LiveObject, VolumePolicy } from '../objects/types.ts'
import { untilReached } from './step-deadline.ts'

export interface Teardown {
  cluster: Cluster
  deploymentId: string
  namespace: string
  fence: Fence
  /** `keep`: the volume stays, and with it the Secret, without whose password nobody could read it */
  volumePolicy: VolumePolicy
  /** objects that were applied here and that the informers may not have shown yet */
  unobserved: readonly LiveObject[]
  changes: Notifier
  /** of performance.now() */
  deadline: number
}

const RETRY_MS = [250, 10_000] as const

/**
 * False: there is nothing to remove. Provisioning begins by opening the namespace too: where that is refused and it
 * never succeeded, nothing was made.
 */
export async function openForTeardown(
  cluster: Cluster,
  namespace: string,
  provisioned: boolean,
  deadline: number,
  signal: AbortSignal,
): Promise<boolean> {
  const silent = () => undefined
  return untilReached(signal, deadline, silent, async (inTime) => {
    try {
      await cluster.open(namespace, inTime)
      return true
    } catch (error) {
      if (error instanceof ApiRefused && !provisioned) return false
      throw error
    }
  })
}

/** Throws StepFailure when it is refused, or not done in time. The namespace has to be open. */
export async function tearDown(teardown: Teardown, signal: AbortSignal): Promise<void> {
  const { cluster, deploymentId, namespace, fence, changes, deadline } = teardown
  const anchor = { namespace, name: namesOf(deploymentId).database }
  const deleted = new Set<string>()
  let failures = 0
  let fenced = false
  for (;;) {
    signal.throwIfAborted()
    const mark = changes.mark(deploymentId)
    const { now, waiting } = leftOf(teardown, deleted)
    if (waiting.length === 0) return
    let away: Unreachable | null = null
    for (const object of now) {
      try {
        // an earlier holder that has not noticed yet would make anew what is deleted
        if (!fenced) await cluster.writeToken({ apiVersion: 'v1', kind: 'Secret', ...anchor }, fence)
        fenced = true
        await cluster.remove(object, fence, ownsPods(object) ? 'foreground' : 'background')
        deleted.add(object.metadata.uid)
      } catch (error) {
        if (error instanceof ApiRefused)
          throw new StepFailure('TEARDOWN_FAILED', `The deployment can't be removed: ${error.message}`)
        if (!(error instanceof Unreachable)) throw error
        away = error
        break
      }
    }
    if (now.length > 0 && !away) continue
    failures = away ? failures + 1 : 0
    const left = deadline - performance.now()
    if (left <= 0) {
      const what = away ? away.message : `still there: ${waiting.join(', ')}`
      throw new StepFailure('TEARDOWN_FAILED', `The deployment was not removed in time: ${what}`)
    }
    // the informers show when what was deleted is gone, so there is no need to ask
    const wait = away ? Math.min(left, backoff(failures - 1, ...RETRY_MS)) : left
    await changes.wait(deploymentId, mark, wait, signal)
  }

  function leftOf({ volumePolicy, unobserved }: Teardown, deleted: ReadonlySet<string>) {
    const { database } = namesOf(deploymentId)
    const observed = cluster.objects(deploymentId)
    const objects = [
      ...observed,
      ...unobserved.filter(
        ({ metadata }) => !deleted.has(metadata.uid) && !observed.some((o) => o.metadata.uid === metadata.uid),
      ),
    ]
    const isAnchor = ({ kind, metadata }: LiveObject) => kind === 'Secret' && metadata.name === database
    const keep = (object: LiveObject) =>
      volumePolicy === 'keep' && (object.kind === 'PersistentVolumeClaim' || isAnchor(object))
    const doomed = objects.filter((object) => !keep(object))
    const others = doomed.filter((object) => !isAnchor(object))
    const pods = cluster.pods(deploymentId).map(({ metadata }) => `Pod ${metadata?.name}`)
    const first = others.length > 0 || pods.length > 0 ? others : doomed
    return {
      now: first.filter(({ metadata }) => !metadata.deletionTimestamp && !deleted.has(metadata.uid)),
      waiting: [...doomed.map(({ kind, metadata }) => `${kind} ${metadata.name}`), ...pods],
    }
  }
}

/** It stays until they are gone, so that none comes up after it. */
function ownsPods({ kind }: LiveObject): boolean {
  return kind === 'Deployment' || kind === 'StatefulSet'
}
