/** The status of a Deployment: its counts, and the conditions Available, Progressing and ReplicaFailure. */
import type { Context } from '../context.ts'
import { equal, type Json, type KubeObject, timestamp, withCondition } from '../objects.ts'
import { DEPLOYMENT, fenceposts } from './deployments.ts'
import { CONTROLLER } from './pods.ts'

/** Writes the status. Returns the ms until the next check of the progress deadline, or null. */
export function writeDeploymentStatus(
  { store, api }: Context,
  { metadata }: KubeObject,
  sets: KubeObject[],
  isCurrent: (template: Json) => boolean,
): number | null {
  const deployment = store.get(DEPLOYMENT, metadata.namespace, metadata.name)
  if (!deployment) return null
  const current = sets.find((set) => isCurrent(set.spec.template))
  const sum = (name: string): number => sets.reduce((n, set) => n + (set.status?.[name] ?? 0), 0)
  const counts = {
    replicas: sum('replicas'),
    updatedReplicas: current?.status?.replicas ?? 0,
    readyReplicas: sum('readyReplicas'),
    availableReplicas: sum('availableReplicas'),
    unavailableReplicas: Math.max(0, sets.reduce((n, set) => n + set.spec.replicas, 0) - sum('availableReplicas')),
  }
  const { conditions, wait } = conditionsOf(deployment, current, sets, counts)
  const status = {
    observedGeneration: deployment.metadata.generation,
    ...Object.fromEntries(Object.entries(counts).filter(([, n]) => n > 0)),
    conditions,
  }
  if (!equal(status, deployment.status)) {
    const change = (copy: KubeObject) => {
      copy.status = status
    }
    api.modify(DEPLOYMENT, deployment, change, { ...CONTROLLER, subresource: 'status' })
  }
  return wait
}

interface Counts {
  replicas: number
  updatedReplicas: number
  readyReplicas: number
  availableReplicas: number
}

function conditionsOf(
  deployment: KubeObject,
  current: KubeObject | undefined,
  sets: KubeObject[],
  counts: Counts,
): { conditions: Json[]; wait: number | null } {
  const now = timestamp()
  const before: Json[] = deployment.status?.conditions ?? []
  const enough = counts.availableReplicas >= deployment.spec.replicas - fenceposts(deployment).unavailable
  const set = (
    conditions: Json[],
    type: string,
    is: boolean,
    reason: string,
    message: string,
    touch = false,
  ): Json[] => {
    const old = conditions.find((c) => c.type === type)
    const status = is ? 'True' : 'False'
    const same = old?.status === status && old.reason === reason && !touch
    if (same) return conditions
    return withCondition(conditions, { type, status, lastUpdateTime: now, reason, message })
  }
  let conditions = enough
    ? set(before, 'Available', true, 'MinimumReplicasAvailable', 'Deployment has minimum availability.')
    : set(before, 'Available', false, 'MinimumReplicasUnavailable', 'Deployment does not have minimum availability.')

  const refusal = [current, ...sets]
    .flatMap((s) => s?.status?.conditions ?? [])
    .find((c: Json) => c.type === 'ReplicaFailure')
  conditions = conditions.filter((c) => c.type !== 'ReplicaFailure')
  if (refusal) {
    const old = before.find((c) => c.type === 'ReplicaFailure')
    const { reason, message } = refusal
    const fresh = {
      type: 'ReplicaFailure',
      status: 'True',
      lastUpdateTime: now,
      lastTransitionTime: now,
      reason,
      message,
    }
    conditions = [...conditions, old?.message === message ? old : fresh]
  }
  if (!current) return { conditions, wait: null }
  return withProgress(deployment, current, counts, conditions, set)
}

type SetCondition = (c: Json[], type: string, is: boolean, reason: string, message: string, touch?: boolean) => Json[]

/** The condition Progressing: the rollout is done, continues, or made no progress before the deadline. */
function withProgress(
  deployment: KubeObject,
  current: KubeObject,
  counts: Counts,
  conditions: Json[],
  set: SetCondition,
): { conditions: Json[]; wait: number | null } {
  const name = `ReplicaSet "${current.metadata.name}"`
  const desired: number = deployment.spec.replicas
  const old = conditions.find((c) => c.type === 'Progressing')
  const complete =
    counts.updatedReplicas === desired && counts.replicas === desired && counts.availableReplicas === desired
  if (complete) {
    const message = `${name} has successfully progressed.`
    const again = old?.message !== message
    return { conditions: set(conditions, 'Progressing', true, 'NewReplicaSetAvailable', message, again), wait: null }
  }
  const was: Counts = { replicas: 0, updatedReplicas: 0, readyReplicas: 0, availableReplicas: 0, ...deployment.status }
  const moved =
    counts.updatedReplicas > was.updatedReplicas ||
    counts.readyReplicas > was.readyReplicas ||
    counts.availableReplicas > was.availableReplicas ||
    counts.replicas - counts.updatedReplicas < was.replicas - was.updatedReplicas
  const isNew = !old?.message.includes(`"${current.metadata.name}"`)
  if (!old || isNew || moved) {
    const [reason, message] = isNew
      ? ['NewReplicaSetCreated', `Created new replica set "${current.metadata.name}"`]
      : ['ReplicaSetUpdated', `${name} is progressing.`]
    const next = set(conditions, 'Progressing', true, reason!, message!, true)
    return { conditions: next, wait: deployment.spec.progressDeadlineSeconds * 1000 + 50 }
  }
  // a completed rollout that lost a pod is not stuck
  if (old.reason === 'NewReplicaSetAvailable' || old.reason === 'ProgressDeadlineExceeded')
    return { conditions, wait: null }
  const left = Date.parse(old.lastUpdateTime) + (deployment.spec.progressDeadlineSeconds + 1) * 1000 - Date.now()
  if (left > 0) return { conditions, wait: left + 50 }
  const message = `${name} has timed out progressing.`
  return { conditions: set(conditions, 'Progressing', false, 'ProgressDeadlineExceeded', message), wait: null }
}
