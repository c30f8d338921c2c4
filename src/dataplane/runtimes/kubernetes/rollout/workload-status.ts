/**
 * The status of a workload: is exactly what was applied rolled out, and if not, what is it waiting for and what is wrong?
 * Pure; the live objects come from the informers.
 */
import type { V1Deployment, V1Pod, V1StatefulSet } from '@kubernetes/client-node'
import type { Progress, Reason } from '../../../../domain/protocol/protocol.ts'
import { reasonOfRefusal } from '../api-server/messages.ts'
import { type RevisionAttempt, revisionAttemptOf, sameAttempt } from '../objects/labels.ts'
import { ANNOTATION_TEMPLATE } from '../objects/names.ts'
import type { LiveObject } from '../objects/types.ts'
import { failedPods, isActive, isReady, type Problem, podActivity, podProblems } from './pod-problems.ts'

/** What is known of a workload and its pods. */
export interface WorkloadSnapshot {
  /** in a sentence: `server`, `queue`, `cache`, `database` */
  component: string
  /** as last observed; undefined: not yet */
  workload: LiveObject | undefined
  /** `metadata.generation` that our apply was answered with */
  generation: number
  /** all pods of the component, older ones too */
  pods: readonly V1Pod[]
  /** what new pods are labelled with; null: pods of this component bear no such label */
  attempt: RevisionAttempt | null
  /** how long a pod may find no node, in ms */
  unschedulableMs: number
}

type Workload = V1Deployment & V1StatefulSet

export interface WorkloadStatus {
  done: boolean
  /** what it is waiting for */
  wait: Progress
  problems: Problem[]
  /** new pods that are not ready */
  unready: V1Pod[]
}

/** ms: a quota that is about to be raised, an account that is made at the same time */
const REPLICA_GRACE_MS = 5000

const SETTLING: Progress = { reason: 'WAITING_FOR_HEALTH', message: ', and have to stay so for a moment' }
/** What an agent needs before it can be ready. */
const INFRASTRUCTURE = ['database', 'cache']

/** `done`: seen by its controller, every replica is new and ready, and no older pod is left that is active. */
export function workloadStatus(snapshot: WorkloadSnapshot): WorkloadStatus {
  const { component, workload, generation } = snapshot
  const problems: Problem[] = []
  const unready: V1Pod[] = []
  const answer = (done: boolean, message: string, reason: Reason = 'ROLLING_OUT'): WorkloadStatus => ({
    done,
    wait: {
      reason: INFRASTRUCTURE.includes(component) ? 'DATABASE_UNAVAILABLE' : reason,
      message: `${component}: ${message}`,
    },
    problems,
    unready,
  })
  if (!workload) return answer(false, 'it is being made')
  const { spec, status = {} as NonNullable<Workload['status']> } = workload as unknown as Workload
  if ((status.observedGeneration ?? 0) < generation) return answer(false, 'the cluster has not seen the change yet')
  problems.push(...conditionProblems(snapshot, workload))

  const pods = snapshot.pods.filter((pod) => isActive(pod))
  const fresh = newPods(pods, snapshot)
  unready.push(...fresh.filter((pod) => !isReady(pod)))
  for (const pod of fresh) problems.push(...podProblems(pod, snapshot.unschedulableMs))
  const desired = spec?.replicas ?? 1
  const updated = status.updatedReplicas ?? 0
  const ready = Math.min(updated, status.readyReplicas ?? 0, fresh.filter(isReady).length)
  // a StatefulSet has no such count before 1.22
  const available = workload.kind === 'Deployment' ? (status.availableReplicas ?? 0) : ready
  if (ready < desired || available < desired) {
    problems.push(...failedPods(component, newPods(snapshot.pods, snapshot), snapshot.unschedulableMs))
    if (fresh.length === 0) return answer(false, `it has no new pod yet${leaving(snapshot.pods)}`)
    const [busy] = unready
    const { reason, message } = busy ? podActivity(busy) : SETTLING
    const why = busy ? `; pod ${busy.metadata?.name} ${message}` : message
    return answer(false, `${ready} of ${desired} replicas are ready${why}`, reason)
  }
  const old = pods.filter((pod) => !fresh.includes(pod))
  const orphan = old.find(({ metadata }) => !metadata?.ownerReferences?.some(({ controller }) => controller))
  if (orphan)
    return answer(
      false,
      `pod ${orphan.metadata?.name} of before serves on, and nothing in the cluster controls it: delete it`,
      'CHANGED_BY_OTHERS',
    )
  if (old.length > 0 || (status.replicas ?? 0) > updated)
    return answer(false, `old pods have to go yet${old[0] ? `, like ${old[0].metadata?.name}` : ''}`)
  return answer(true, 'ready')
}

/** A StatefulSet makes its pod anew only when the one before is gone. */
function leaving(pods: readonly V1Pod[]): string {
  const last = pods.find(({ metadata }) => metadata?.deletionTimestamp)
  return last ? `: pod ${last.metadata?.name} is still on its way out` : ''
}

/**
 * The pods that were made from what was applied. Of a Deployment: those of the attempt, with the hash of its template,
 * because a template may be changed without a new attempt.
 */
function newPods(pods: readonly V1Pod[], { workload, attempt }: WorkloadSnapshot): V1Pod[] {
  const { spec, status } = workload as unknown as Workload
  if (workload?.kind === 'StatefulSet')
    return pods.filter((pod) => pod.metadata?.labels?.['controller-revision-hash'] === status?.updateRevision)
  const hash = templateHash(spec?.template)
  return pods.filter((pod) => (!attempt || sameAttempt(revisionAttemptOf(pod), attempt)) && templateHash(pod) === hash)
}

const templateHash = (of: Pick<V1Pod, 'metadata'> | undefined) => of?.metadata?.annotations?.[ANNOTATION_TEMPLATE]

function conditionProblems({ component, unschedulableMs }: WorkloadSnapshot, workload: LiveObject): Problem[] {
  const { status, metadata } = workload as unknown as V1Deployment
  const found: Problem[] = []
  for (const { type, status: is, reason, message } of status?.conditions ?? []) {
    if (type === 'ReplicaFailure' && is === 'True')
      found.push({
        key: `${metadata?.uid}/replicas`,
        reason: reasonOfRefusal(message),
        message: `The cluster refuses pods of ${component}: ${message ?? reason}`,
        graceMs: REPLICA_GRACE_MS,
      })
    if (type === 'Progressing' && is === 'False' && reason === 'ProgressDeadlineExceeded')
      found.push({
        key: `${metadata?.uid}/progress`,
        reason: 'HEALTH_CHECK_TIMED_OUT',
        message: `The rollout of ${component} made no progress in time: ${message ?? reason}`,
        // it may be left of an earlier try, until the first new pod is ready
        graceMs: unschedulableMs,
      })
  }
  return found
}
