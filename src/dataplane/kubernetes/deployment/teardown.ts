/**
 * Deletes all objects of a deployment and waits until they are gone. Repeatable.
 * The database's Secret is deleted last: its fencing token decides which holder may write.
 */
import type { V1Pod } from '@kubernetes/client-node'
import type { Notifier } from '../../../platform/async/notifier.ts'
import { backoff } from '../../../platform/async/retry.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { ApiRefused, Unreachable } from '../api-server/errors.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Fence } from '../cluster/fencing.ts'
import { componentOf } from '../objects/labels.ts'
import { namesOf } from '../objects/names.ts'
import type { LiveObject, VolumePolicy } from '../objects/types.ts'
import { PodEnds } from '../rollout/pod-ends.ts'
import { untilReached } from './step-deadline.ts'

export interface Teardown {
  cluster: Cluster
  deploymentId: string
  namespace: string
  fence: Fence
  volumePolicy: VolumePolicy
  /** applied objects that the informers may not show yet */
  unobserved: readonly LiveObject[]
  changes: Notifier
  /** performance.now() */
  deadline: number
}

const RETRY_MS = [250, 10_000] as const
/** ms after which an object without a grace period counts as stuck */
const OBJECT_REMOVAL_TIMEOUT_MS = 600_000

/** False: no object exists. Provisioning opens the namespace first, so without it nothing was created. */
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

/** Throws StepFailure when the cluster refuses, or at the deadline. The namespace must be open. */
export async function tearDown(teardown: Teardown, signal: AbortSignal): Promise<void> {
  const { cluster, deploymentId, namespace, fence, changes, deadline } = teardown
  const anchor = { namespace, name: namesOf(deploymentId).database }
  const deleted = new Set<string>()
  const startedAt = performance.now()
  const podEnds = new PodEnds()
  let failures = 0
  let fenced = false
  for (;;) {
    signal.throwIfAborted()
    const mark = changes.mark(deploymentId)
    const { now, waiting, podsEndAt } = leftOf(teardown, deleted)
    if (waiting.length === 0) return
    let outage: Unreachable | null = null
    for (const object of now) {
      try {
        // otherwise an earlier holder could recreate deleted objects
        if (!fenced) await cluster.writeToken({ apiVersion: 'v1', kind: 'Secret', ...anchor }, fence)
        fenced = true
        await cluster.remove(object, fence, ownsPods(object) ? 'Foreground' : 'Background')
        deleted.add(object.metadata.uid)
      } catch (error) {
        if (error instanceof ApiRefused)
          throw new StepFailure('TEARDOWN_FAILED', `The deployment can't be removed: ${error.message}`)
        if (!(error instanceof Unreachable)) throw error
        outage = error
        break
      }
    }
    if (now.length > 0 && !outage) continue
    failures = outage ? failures + 1 : 0
    const left = Math.min(deadline, Math.max(startedAt + OBJECT_REMOVAL_TIMEOUT_MS, podsEndAt)) - performance.now()
    if (left <= 0) {
      const cause = outage ? outage.message : `these objects remain: ${waiting.join(', ')}`
      throw new StepFailure('TEARDOWN_FAILED', `The deployment was not removed before its deadline: ${cause}`)
    }
    // the informers report deletions, so no polling is needed
    const wait = outage ? Math.min(left, backoff(failures - 1, ...RETRY_MS)) : left
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
    const pods = cluster.pods(deploymentId)
    // agents need their database and cache until they have ended
    const agents = others.filter((object) => isAgents(object) && object.kind !== 'NetworkPolicy')
    const stages = [
      { objects: agents, pods: pods.filter(isAgents) },
      { objects: others, pods },
    ]
    const first = stages.find((stage) => stage.objects.length > 0 || stage.pods.length > 0)?.objects ?? doomed
    return {
      now: first.filter(({ metadata }) => !metadata.deletionTimestamp && !deleted.has(metadata.uid)),
      podsEndAt: podEnds.latest(pods),
      waiting: [...pods.map(described), ...doomed.map(({ kind, metadata }) => `${kind} ${metadata.name}`)],
    }
  }
}

const isAgents = (object: { metadata?: LiveObject['metadata'] | V1Pod['metadata'] }): boolean =>
  ['server', 'queue'].includes(componentOf(object as LiveObject) ?? '')

function described({ metadata }: V1Pod): string {
  const grace = metadata?.deletionTimestamp && metadata.deletionGracePeriodSeconds
  return `Pod ${metadata?.name}${grace ? ` (which has a grace period of ${grace} s to end)` : ''}`
}

/** Such an object is deleted in the foreground, so that it creates no pod after its pods are gone. */
function ownsPods({ kind }: LiveObject): boolean {
  return kind === 'Deployment' || kind === 'StatefulSet'
}
