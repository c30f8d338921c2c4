/** Health of a deployment's server from observed objects. Of several reasons it returns the one to fix first. */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { Health, Progress } from '../../../domain/protocol/protocol.ts'
import { componentOf, type RevisionAttempt } from '../objects/labels.ts'
import { namesOf } from '../objects/names.ts'
import type { LiveObject } from '../objects/types.ts'
import { type ServiceWithoutEndpoints, servicesWithoutEndpoints } from './endpoints.ts'
import type { GracePeriods } from './problem.ts'
import {
  beingDeleted,
  ownershipLostProgress,
  type RolloutContext,
  rolloutStatus,
  workloadsStatus,
} from './rollout-status.ts'

interface HealthContext extends RolloutContext {
  /** attempt that serves or is rolled out; null: not known yet */
  attempt: RevisionAttempt | null
  minReplicas: number
  gracePeriods: GracePeriods
  /** reason to report if there is no worse one; null: none */
  note: Progress | null
}

export function healthOf(context: HealthContext): Health {
  const { cluster, reconciler, deploymentId, minReplicas, note } = context
  const objects = cluster.objects(deploymentId)
  const { server } = namesOf(deploymentId)
  const deployment = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === server)
  const { spec, status } = (deployment ?? {}) as unknown as Partial<V1Deployment>
  const desired = spec?.replicas ?? minReplicas
  const ready = status?.readyReplicas ?? 0
  const unreached = serviceWithoutEndpoints(context, objects)
  const draining = drainingPods(cluster.pods(deploymentId))
  const why =
    blocked(context) ??
    unreached ??
    waiting(context, ready < desired) ??
    beingDeleted(objects, reconciler.applied) ??
    note
  return {
    ready: unreached?.component === 'server' ? 0 : ready,
    desired,
    message: why?.message ?? null,
    reason: why?.reason ?? null,
    ...(draining > 0 ? { draining } : {}),
  }
}

/** Number of server and queue pods that take no new work and have time to finish their runs. */
function drainingPods(pods: readonly V1Pod[]): number {
  return pods.filter((pod) => {
    const { metadata, status } = pod
    return (
      ['server', 'queue'].includes(componentOf(pod) ?? '') && metadata?.deletionTimestamp && status?.phase === 'Running'
    )
  }).length
}

/** Returns why the reconciler can't act; null: it can. */
function blocked({ cluster, reconciler }: HealthContext): Progress | null {
  if (reconciler.ownershipLost) return ownershipLostProgress(reconciler.ownershipLost)
  const outage = cluster.problem()
  return reconciler.failure ?? (outage === null ? null : { reason: 'CLUSTER_UNREACHABLE', message: outage })
}

/** Returns a Service that has lacked endpoints for its grace period, the server's first. */
function serviceWithoutEndpoints(context: HealthContext, objects: LiveObject[]): ServiceWithoutEndpoints | null {
  const { cluster, deploymentId, namespace, gracePeriods } = context
  const slices = cluster.endpoints(namespace, deploymentId)
  const all = servicesWithoutEndpoints(objects, cluster.pods(deploymentId), slices)
  all.sort((a, b) => Number(b.component === 'server') - Number(a.component === 'server'))
  const { failed } = gracePeriods.check(all, performance.now())
  return all.find(({ key }) => key === failed?.key) ?? null
}

/** Returns a problem or wait of the pods. Before the first apply, it looks at the server only. */
function waiting({ attempt, ...context }: HealthContext, lacks: boolean): Progress | null {
  const { server } = namesOf(context.deploymentId)
  const alone = { key: `Deployment/${server}`, generation: 0, workload: { component: 'server' as const, attempt } }
  const { synced } = context.reconciler
  if (!synced && !lacks) return null
  const { done, wait, problems } = synced ? rolloutStatus(context) : workloadsStatus(context, [alone])
  // a Service may lack endpoints briefly; `serviceWithoutEndpoints` reports a lasting gap
  return problems[0] ?? (done || wait.reason === 'NO_ENDPOINTS' ? null : wait)
}
