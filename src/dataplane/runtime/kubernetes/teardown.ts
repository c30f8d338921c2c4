/**
 * Removes everything of a deployment from its namespace, and waits until it is gone. The Secret of the database
 * goes last: by it every holder knows that the deployment exists. Repeatable.
 */
import { backoff } from '../../backoff.ts'
import { StepFailure } from '../../failure.ts'
import type { Bell } from './bell.ts'
import type { Cluster, Fence } from './cluster/cluster.ts'
import { ApiRefused, Unreachable } from './cluster/errors.ts'
import { reaching } from './reaching.ts'
import { namesOf } from './render/names.ts'
import type { LiveObject, VolumePolicy } from './types.ts'

export interface Teardown {
  cluster: Cluster
  deploymentId: string
  namespace: string
  fence: Fence
  /** `keep`: the volume stays, and with it the Secret, without whose password nobody could read it */
  volumePolicy: VolumePolicy
  /** objects that were applied here and that the watch may not have shown yet */
  unseen: readonly LiveObject[]
  bell: Bell
  deadlineAt: Date
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
  deadlineAt: Date,
  signal: AbortSignal,
): Promise<boolean> {
  const silent = () => undefined
  return reaching(signal, deadlineAt, silent, async (inTime) => {
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
  const { cluster, deploymentId, namespace, fence, bell, deadlineAt } = teardown
  const anchor = { namespace, name: namesOf(deploymentId).database }
  const told = new Set<string>()
  let failures = 0
  let marked = false
  for (;;) {
    signal.throwIfAborted()
    const { now, waiting } = leftOf(teardown, told)
    if (waiting.length === 0) return
    let away: Unreachable | null = null
    for (const object of now) {
      try {
        // a holder of before that has not noticed yet would make anew what goes
        if (!marked) await cluster.mark({ apiVersion: 'v1', kind: 'Secret', ...anchor }, fence)
        marked = true
        await cluster.remove(object, fence, ownsPods(object) ? 'foreground' : 'background')
        told.add(object.metadata.uid)
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
    const left = deadlineAt.getTime() - Date.now()
    if (left <= 0) {
      const what = away ? away.message : `still there: ${waiting.join(', ')}`
      throw new StepFailure('TEARDOWN_FAILED', `The deployment was not removed in time: ${what}`)
    }
    // what was told to go may not be shown as going yet: the watch tells, so there is no need to ask
    await bell.wait(away ? Math.min(left, backoff(failures - 1, ...RETRY_MS)) : left, signal)
  }

  function leftOf({ volumePolicy, unseen }: Teardown, asked: ReadonlySet<string>) {
    const { database } = namesOf(deploymentId)
    const seen = cluster.objects(deploymentId)
    const objects = [
      ...seen,
      ...unseen.filter(
        ({ metadata }) => !asked.has(metadata.uid) && !seen.some((o) => o.metadata.uid === metadata.uid),
      ),
    ]
    const isAnchor = ({ kind, metadata }: LiveObject) => kind === 'Secret' && metadata.name === database
    const keep = (object: LiveObject) =>
      volumePolicy === 'keep' && (object.kind === 'PersistentVolumeClaim' || isAnchor(object))
    const going = objects.filter((object) => !keep(object))
    const others = going.filter((object) => !isAnchor(object))
    const pods = cluster.pods(deploymentId).map(({ metadata }) => `Pod ${metadata?.name}`)
    const first = others.length > 0 || pods.length > 0 ? others : going
    return {
      now: first.filter(({ metadata }) => !metadata.deletionTimestamp && !asked.has(metadata.uid)),
      waiting: [...going.map(({ kind, metadata }) => `${kind} ${metadata.name}`), ...pods],
    }
  }
}

/** It stays until they are gone, so that none comes up after it. */
function ownsPods({ kind }: LiveObject): boolean {
  return kind === 'Deployment' || kind === 'StatefulSet'
}
