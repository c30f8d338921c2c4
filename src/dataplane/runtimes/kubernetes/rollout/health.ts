/**
 * How a deployment's server is doing, and why not all of it serves: from what the informers have observed. Of several
 * reasons it gives the one that has to be mended first.
 */
import type { V1Deployment } from '@kubernetes/client-node'
import type { Health, Progress } from '../../../../domain/protocol/protocol.ts'
import type { RevisionAttempt } from '../objects/labels.ts'
import { namesOf } from '../objects/names.ts'
import type { LiveObject } from '../objects/types.ts'
import { type ServiceWithoutEndpoints, servicesWithoutEndpoints } from './endpoints.ts'
import type { GracePeriods } from './grace-periods.ts'
import {
  beingDeleted,
  ownershipLostProgress,
  type RolloutContext,
  rolloutStatus,
  workloadsStatus,
} from './rollout-status.ts'

export interface HealthContext extends RolloutContext {
  /** of what serves or is to serve; null: not known yet */
  attempt: RevisionAttempt | null
  /** replicas that there should be as long as nothing is there */
  minReplicas: number
  /** of Services without endpoints */
  gracePeriods: GracePeriods
  /** the reason when there is nothing worse; null: none */
  note: Progress | null
}

export function healthOf(context: HealthContext): Health {
  const { cluster, reconciler, deploymentId, minReplicas: wanted, note } = context
  const objects = cluster.objects(deploymentId)
  const { server } = namesOf(deploymentId)
  const deployment = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === server)
  const { spec, status } = (deployment ?? {}) as unknown as Partial<V1Deployment>
  const desired = spec?.replicas ?? wanted
  const ready = status?.readyReplicas ?? 0
  const unreached = serviceWithoutEndpoints(context, objects)
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
  }
}

/** What keeps us from acting. */
function blocked({ cluster, reconciler }: HealthContext): Progress | null {
  if (reconciler.ownershipLost) return ownershipLostProgress(reconciler.ownershipLost)
  const away = cluster.problem()
  return reconciler.failure ?? (away === null ? null : { reason: 'CLUSTER_UNREACHABLE', message: away })
}

/** A Service without endpoints, for more than a moment; the server's before others. */
function serviceWithoutEndpoints(context: HealthContext, objects: LiveObject[]): ServiceWithoutEndpoints | null {
  const { cluster, deploymentId, namespace, gracePeriods } = context
  const slices = cluster.endpoints(namespace, deploymentId)
  const all = servicesWithoutEndpoints(objects, cluster.pods(deploymentId), slices)
  all.sort((a, b) => Number(b.component === 'server') - Number(a.component === 'server'))
  const { failed } = gracePeriods.check(all, performance.now())
  return all.find(({ key }) => key === failed?.key) ?? null
}

/** What is wrong with pods, or what they wait for; before anything was applied, of the server alone. */
function waiting({ attempt, ...context }: HealthContext, lacks: boolean): Progress | null {
  const { server } = namesOf(context.deploymentId)
  const alone = { key: `Deployment/${server}`, generation: 0, workload: { component: 'server' as const, attempt } }
  const { synced } = context.reconciler
  if (!synced && !lacks) return null
  const { done, wait, problems } = synced ? rolloutStatus(context) : workloadsStatus(context, [alone])
  // a Service without endpoints is normal for a moment, and reported when it lasts
  return problems[0] ?? (done || wait.reason === 'NO_ENDPOINTS' ? null : wait)
}
