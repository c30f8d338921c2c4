/** Status of a rollout: done, waiting or failing. A step computes it at every change, the health per heartbeat. */
import type { V1Pod } from '@kubernetes/client-node'
import type { Progress } from '../../../domain/protocol/protocol.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { componentOf } from '../objects/labels.ts'
import type { Component, LiveObject } from '../objects/types.ts'
import type { AppliedObject } from '../reconcile/drift.ts'
import type { Reconciler } from '../reconcile/reconciler.ts'
import { servicesWithoutEndpoints } from './endpoints.ts'
import { isActive } from './pod-problems.ts'
import type { Problem } from './problem.ts'
import { type Stuck, stuckOf } from './warning-events.ts'
import { refusalKey, type WorkloadPods, workloadStatus } from './workload-status.ts'

export interface RolloutContext {
  cluster: Cluster
  deploymentId: string
  namespace: string
  reconciler: Reconciler
  /** ms that a pod may be unschedulable */
  failAfterMs: number
}

interface RolloutStatus {
  done: boolean
  /** the most specific wait first; unused when `done` */
  wait: Progress
  /** progress of the workloads for the log; empty: nothing to report */
  stage: string
  problems: Problem[]
  stuck: Stuck[]
  workloads: WorkloadRollout[]
  /** output of a running container that does not become ready */
  output?: Problem['output']
}

export interface WorkloadRollout {
  component: Component
  done: boolean
  /** null: not known yet */
  pods: WorkloadPods | null
  /** key of the problem that the cluster refuses its pods */
  refusalKey: string
}

type Workload = { key: AppliedObject['key']; generation: number; workload: NonNullable<AppliedObject['workload']> }

const APPLYING: Progress = { reason: 'ROLLING_OUT', message: 'Its manifests are being applied' }

export function rolloutStatus(context: RolloutContext): RolloutStatus {
  const { cluster, reconciler } = context
  const { ownershipLost, failure, synced, contention } = reconciler
  const status: RolloutStatus = {
    done: false,
    wait: failure ?? APPLYING,
    stage: failure?.message ?? '',
    problems: [],
    stuck: [],
    workloads: [],
  }
  if (ownershipLost) status.problems.push({ key: 'ownership', ...ownershipLostProgress(ownershipLost), graceMs: 0 })
  else if (failure?.refused) status.problems.push({ key: 'refused', ...failure, graceMs: 0 })
  const outage = cluster.problem()
  if (outage !== null) {
    status.wait = { reason: 'CLUSTER_UNREACHABLE', message: outage }
    status.stage = outage
  }
  if (ownershipLost || !synced) return status
  const found = workloadsStatus(context, reconciler.applied.filter(isWorkload))
  if (outage !== null) return { ...found, wait: status.wait, stage: outage }
  if (!contention) return found
  return {
    ...found,
    stage: contention.message,
    wait: { ...contention, message: `${contention.message} ${found.wait.message}` },
  }
}

/** Progress of a reconciler that may not write: another holder is newer, or someone edited the token annotation. */
export function ownershipLostProgress({ message }: Error): Progress {
  return { reason: 'WORKER_LOST', message: `This process may no longer change the deployment: ${message}` }
}

export function workloadsStatus(
  context: Omit<RolloutContext, 'reconciler'>,
  applied: readonly Workload[],
): RolloutStatus {
  const { cluster, deploymentId, namespace, failAfterMs } = context
  const objects = cluster.objects(deploymentId)
  const pods = cluster.pods(deploymentId)
  const waits: Progress[] = []
  const stages: string[] = []
  const status: RolloutStatus = { done: false, wait: APPLYING, stage: '', problems: [], stuck: [], workloads: [] }
  for (const { key, generation, workload: expected } of applied) {
    const workload = objects.find(({ kind, metadata }) => `${kind}/${metadata.name}` === key)
    const ownPods = pods.filter((pod) => componentOf(pod) === expected.component)
    const state = workloadStatus({ ...expected, workload, generation, pods: ownPods, unschedulableMs: failAfterMs })
    status.workloads.push({
      component: expected.component,
      done: state.done,
      pods: state.pods,
      refusalKey: refusalKey(workload),
    })
    if (state.done) continue
    waits.push(state.wait)
    if (state.stage !== null) stages.push(state.stage)
    status.problems.push(...state.problems)
    status.output ??= outputOf(state.unready)
    if (!workload || state.problems.length > 0) continue
    const active = ownPods.filter(isActive)
    status.stuck.push(...stuckOf(expected.component, workload, state.unready, active, failAfterMs))
  }
  if (waits.length === 0)
    for (const { reason, message } of servicesWithoutEndpoints(
      objects,
      pods,
      cluster.endpoints(namespace, deploymentId),
    ))
      waits.push({ reason, message })
  return { ...status, done: waits.length === 0, wait: joined(waits), stage: stages.join() }
}

/** Desired objects that are terminating: they can be recreated only when they are gone. */
export function beingDeleted(objects: readonly LiveObject[], applied: readonly AppliedObject[]): Progress | null {
  const keys = new Set(applied.map(({ key }) => key))
  const names = objects
    .filter(({ metadata }) => metadata.deletionTimestamp)
    .map(({ kind, metadata }) => `${kind}/${metadata.name}`)
    .filter((key) => keys.has(key))
  if (names.length === 0) return null
  const message = `Another program or user deleted ${names.join(', ')}: it is still terminating, and is created again afterwards.`
  return { reason: 'CHANGED_BY_OTHERS', message }
}

const isWorkload = (applied: AppliedObject): applied is AppliedObject & Workload => applied.workload !== null

/** Joins all messages, with the first reason. Later waits depend on the first: no agent starts before its database. */
function joined(waits: readonly Progress[]): Progress {
  const [first = APPLYING] = waits
  return { reason: first.reason, message: `Waiting for ${waits.map(({ message }) => message).join(', ')}` }
}

function outputOf(unready: readonly V1Pod[]): Problem['output'] {
  for (const { metadata, status } of unready) {
    const running = status?.containerStatuses?.find(({ ready, state }) => !ready && state?.running)
    if (running)
      return {
        namespace: metadata?.namespace ?? '',
        pod: metadata?.name ?? '',
        container: running.name,
        previous: false,
        running: true,
      }
  }
  return undefined
}
