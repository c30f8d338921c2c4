/**
 * The status of a workload: is exactly what was applied rolled out, and if not, what is it waiting for and what is wrong?
 * Pure; the live objects come from the informers.
 */
import type { V1Deployment, V1Pod, V1StatefulSet } from '@kubernetes/client-node'
import type { Progress, Reason } from '../../../../domain/protocol/protocol.ts'
import { isOverQuota, reasonOfRefusal, withAdvice } from '../api-server/messages.ts'
import { type RevisionAttempt, revisionAttemptOf, sameAttempt } from '../objects/labels.ts'
import { ANNOTATION_TEMPLATE } from '../objects/names.ts'
import type { LiveObject } from '../objects/types.ts'
import { failedPods, isActive, isReady, type Problem, podActivity, podProblems } from './pod-problems.ts'
import { fitsInPlaceOf } from './quota-headroom.ts'

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
  /** how far it is, for a log: without what changes by itself every moment. Null: nothing that needs to be said */
  stage: string | null
  problems: Problem[]
  /** new pods that are not ready */
  unready: V1Pod[]
  /** for whoever makes room for it; null: not known yet */
  pods: WorkloadPods | null
}

/** How many pods of a workload there are, and whether a quota has room for those that it wants. */
export interface WorkloadPods {
  desired: number
  /** neither ended nor on their way out */
  active: number
  /** those of them that are of before */
  old: number
  /** some are on their way out, and still count */
  leaving: boolean
  /** the cluster's words when a quota has no room for one more pod */
  quotaRefusal: string | null
  /** a new one would have room in the place of an old one */
  fitsInPlace: boolean
}

/** ms: a quota that is about to be raised, an account that is made at the same time */
const REPLICA_GRACE_MS = 5000

const SETTLING = ', and have to stay so for a moment'
/** What an agent needs before it can be ready. */
const INFRASTRUCTURE = ['database', 'cache']

/** `done`: seen by its controller, every replica is new and ready, and no older pod is left that is active. */
export function workloadStatus(snapshot: WorkloadSnapshot): WorkloadStatus {
  const { component, workload, generation } = snapshot
  const problems: Problem[] = []
  const unready: V1Pod[] = []
  let counts: WorkloadPods | null = null
  const answer = (
    done: boolean,
    message: string,
    reason: Reason = 'ROLLING_OUT',
    stage: string | null = null,
  ): WorkloadStatus => ({
    done,
    stage: stage && `${component}: ${stage}`,
    wait: {
      reason: INFRASTRUCTURE.includes(component) ? 'DATABASE_UNAVAILABLE' : reason,
      message: `${component}: ${message}`,
    },
    problems,
    unready,
    pods: counts,
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
  const refused = status.conditions?.find(({ type, status: is }) => type === 'ReplicaFailure' && is === 'True')
  const quotaRefusal = refused && isOverQuota(refused.message) ? refused.message! : null
  counts = {
    desired,
    active: pods.length,
    old: pods.length - fresh.length,
    leaving: snapshot.pods.some(({ metadata }) => metadata?.deletionTimestamp),
    quotaRefusal,
    fitsInPlace: quotaRefusal === null || pods.some((pod) => !fresh.includes(pod) && fitsInPlaceOf(pod, quotaRefusal)),
  }
  const updated = status.updatedReplicas ?? 0
  const ready = Math.min(updated, status.readyReplicas ?? 0, fresh.filter(isReady).length)
  // a StatefulSet has no such count before 1.22
  const available = workload.kind === 'Deployment' ? (status.availableReplicas ?? 0) : ready
  if (ready < desired || available < desired) {
    problems.push(...failedPods(component, newPods(snapshot.pods, snapshot), snapshot.unschedulableMs))
    const count = `${ready} of ${desired} replicas are ready`
    if (fresh.length === 0)
      return answer(false, `${count}; it has no new pod yet${leaving(snapshot.pods)}`, 'ROLLING_OUT', count)
    const [busy] = unready
    if (!busy) return answer(false, `${count}${SETTLING}`, 'WAITING_FOR_HEALTH')
    const { reason, message } = podActivity(busy)
    return answer(false, `${count}; pod ${busy.metadata?.name} ${message}`, reason, count)
  }
  const old = pods.filter((pod) => !fresh.includes(pod))
  const orphan = old.find(({ metadata }) => !metadata?.ownerReferences?.some(({ controller }) => controller))
  if (orphan) {
    const why = `pod ${orphan.metadata?.name} of before serves on, and nothing in the cluster controls it: delete it`
    return answer(false, why, 'CHANGED_BY_OTHERS', why)
  }
  if (old.length > 0 || (status.replicas ?? 0) > updated) {
    const like = old[0] ? `, like ${old[0].metadata?.name}` : ''
    return answer(false, `${ready} of ${desired} replicas are ready; old pods have to go yet${like}`)
  }
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

/** Of the problem that the cluster refuses its pods. */
export const refusalKey = (workload: LiveObject | undefined): string => `${workload?.metadata.uid}/replicas`

function conditionProblems({ component, unschedulableMs }: WorkloadSnapshot, workload: LiveObject): Problem[] {
  const { status, metadata } = workload as unknown as V1Deployment
  const found: Problem[] = []
  for (const { type, status: is, reason, message } of status?.conditions ?? []) {
    if (type === 'ReplicaFailure' && is === 'True')
      found.push({
        key: refusalKey(workload),
        reason: reasonOfRefusal(message),
        message: withAdvice(`The cluster refuses pods of ${component}: ${message ?? reason}`),
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
