/** Status of a workload: rolled out, waiting or failing. Pure; informers provide the live objects. */
import type { V1Deployment, V1Pod, V1StatefulSet } from '@kubernetes/client-node'
import type { Progress, Reason } from '../../../domain/protocol/protocol.ts'
import { exceededResources, isOverQuota, reasonOfRefusal, withAdvice } from '../api-server/messages.ts'
import { type RevisionAttempt, revisionAttemptOf, sameAttempt } from '../objects/labels.ts'
import { ANNOTATION_TEMPLATE } from '../objects/names.ts'
import type { LiveObject } from '../objects/types.ts'
import { bytesOf } from '../render/resources.ts'
import { failedPods, isActive, isReady, podActivity, podProblems } from './pod-problems.ts'
import type { Problem } from './problem.ts'

/** Observed state of a workload and its pods. */
export interface WorkloadSnapshot {
  /** component name for messages: `server`, `queue`, `cache`, `database` */
  component: string
  /** last observed object; undefined: not observed yet */
  workload: LiveObject | undefined
  /** `metadata.generation` in the response to the apply */
  generation: number
  /** all pods of the component, old ones included */
  pods: readonly V1Pod[]
  /** labels of new pods; null: pods of this component have none */
  attempt: RevisionAttempt | null
  /** ms that a pod may be unschedulable */
  unschedulableMs: number
}

type Workload = V1Deployment & V1StatefulSet

interface WorkloadStatus {
  done: boolean
  /** current wait */
  wait: Progress
  /** progress for the log, without values that change constantly. Null: nothing to report */
  stage: string | null
  problems: Problem[]
  /** new pods that are not ready */
  unready: V1Pod[]
  /** input of quota-concessions.ts; null: not known yet */
  pods: WorkloadPods | null
}

/** Pod counts of a workload, and whether a quota refuses more pods. */
export interface WorkloadPods {
  desired: number
  /** pods that neither have ended nor are terminating */
  active: number
  /** active pods of an earlier template */
  old: number
  /** some pods are terminating and still count towards the quota */
  leaving: boolean
  /** the cluster's message when a quota refuses one more pod */
  quotaRefusal: string | null
  /** a new pod would fit in place of an old one */
  fitsInPlace: boolean
}

/** ms, because a quota may be raised or a service account created at the same time */
const REPLICA_GRACE_MS = 5000

const SETTLING = ', and must stay ready for a moment'
/** Components that an agent needs before it can be ready. */
const INFRASTRUCTURE = ['database', 'cache']

/** `done`: the controller has seen the spec, all replicas are new and ready, and no old pod is active. */
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
  if (!workload) return answer(false, 'it is being created')
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
    const why = `old pod ${orphan.metadata?.name} still serves, and no controller owns it: delete it`
    return answer(false, why, 'CHANGED_BY_OTHERS', why)
  }
  if (old.length > 0 || (status.replicas ?? 0) > updated) {
    const like = old[0] ? `, for example ${old[0].metadata?.name}` : ''
    return answer(false, `${ready} of ${desired} replicas are ready; old pods still run${like}`)
  }
  return answer(true, 'ready')
}

/** A StatefulSet creates its new pod only after the old one is gone. */
function leaving(pods: readonly V1Pod[]): string {
  const last = pods.find(({ metadata }) => metadata?.deletionTimestamp)
  return last ? `: pod ${last.metadata?.name} is still terminating` : ''
}

/**
 * Pods of the applied template. For a Deployment: pods of the attempt with the template's hash, because a template
 * may change without a new attempt.
 */
function newPods(pods: readonly V1Pod[], { workload, attempt }: WorkloadSnapshot): V1Pod[] {
  const { spec, status } = workload as unknown as Workload
  if (workload?.kind === 'StatefulSet')
    return pods.filter((pod) => pod.metadata?.labels?.['controller-revision-hash'] === status?.updateRevision)
  const hash = templateHash(spec?.template)
  return pods.filter((pod) => (!attempt || sameAttempt(revisionAttemptOf(pod), attempt)) && templateHash(pod) === hash)
}

const templateHash = (object: Pick<V1Pod, 'metadata'> | undefined) =>
  object?.metadata?.annotations?.[ANNOTATION_TEMPLATE]

/** Key of the problem that the cluster refuses the workload's pods. */
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
        message: `The rollout of ${component} made no progress before its deadline: ${message ?? reason}`,
        // it may belong to an earlier try until the first new pod is ready
        graceMs: unschedulableMs,
      })
  }
  return found
}

/**
 * True: a refused pod would fit in place of an existing one. If not, removing that only reduces capacity. `refusal`: the
 * cluster's message. Resources that it does not name count as free.
 */
function fitsInPlaceOf(old: V1Pod, refusal: string): boolean {
  return exceededResources(refusal).every(({ resource, requested, used, limited }) => {
    const after = bytesOf(used) - amountOf(old, resource) + bytesOf(requested)
    // sums of decimals have rounding errors
    return !(after > bytesOf(limited) * (1 + 1e-9))
  })
}

/** Amount that the pod uses of a quota's resource; NaN: unknown resource. */
function amountOf({ spec }: V1Pod, resource: string): number {
  if (/^(count\/)?pods$/.test(resource)) return 1
  const [, kind = 'requests', name = ''] =
    /^(?:(requests|limits)\.)?(cpu|memory|ephemeral-storage)$/.exec(resource) ?? []
  if (!name) return Number.NaN
  const amounts = (spec?.containers ?? []).map(({ resources }) => {
    const quantity = resources?.[kind as 'requests' | 'limits']?.[name]
    return quantity === undefined ? 0 : bytesOf(quantity)
  })
  return amounts.reduce((sum, amount) => sum + amount, 0)
}
