/**
 * How a deployment's server is doing, and why not all of it serves: from what the watch has seen. Of several reasons the
 * one is told that has to be mended first.
 */
import type { V1Deployment } from '@kubernetes/client-node'
import type { Health, Progress } from '../../../domain/work/protocol.ts'
import type { Mark } from './judge.ts'
import type { Patience } from './patience.ts'
import { namesOf } from './render/names.ts'
import { going, lostTo, type Site, survey, workloads } from './survey.ts'
import type { LiveObject } from './types.ts'
import { type Unreached, unreachedServices } from './unreached.ts'

export interface Checkup extends Site {
  /** of what serves or is to serve; null: not known yet */
  mark: Mark | null
  /** replicas that there should be as long as nothing is there */
  wanted: number
  /** remembers for how long a Service has led nowhere */
  patience: Patience
  /** what is told when there is nothing worse; null: nothing */
  note: Progress | null
}

export function healthOf(checkup: Checkup): Health {
  const { cluster, keeper, deploymentId, wanted, note } = checkup
  const objects = cluster.objects(deploymentId)
  const { server } = namesOf(deploymentId)
  const deployment = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === server)
  const { spec, status } = (deployment ?? {}) as unknown as Partial<V1Deployment>
  const desired = spec?.replicas ?? wanted
  const ready = status?.readyReplicas ?? 0
  const lost = unreached(checkup, objects)
  const why = trouble(checkup) ?? lost ?? waiting(checkup, ready < desired) ?? going(objects, keeper.applied) ?? note
  return {
    ready: lost?.component === 'server' ? 0 : ready,
    desired,
    message: why?.message ?? null,
    reason: why?.reason ?? null,
  }
}

/** What keeps us from acting. */
function trouble({ cluster, keeper }: Checkup): Progress | null {
  if (keeper.ended) return lostTo(keeper.ended)
  const away = cluster.problem()
  return keeper.trouble ?? (away === null ? null : { reason: 'CLUSTER_UNREACHABLE', message: away })
}

/** A Service that leads nowhere, for more than a moment; the server's before others. */
function unreached({ cluster, deploymentId, namespace, patience }: Checkup, objects: LiveObject[]): Unreached | null {
  const slices = cluster.endpoints(namespace, deploymentId)
  const all = unreachedServices(objects, cluster.pods(deploymentId), slices)
  all.sort((a, b) => Number(b.component === 'server') - Number(a.component === 'server'))
  const { failed } = patience.look(all, performance.now())
  return all.find(({ key }) => key === failed?.key) ?? null
}

/** What is wrong with pods, or what they wait for; before the first look at what was applied, of the server alone. */
function waiting({ mark, ...checkup }: Checkup, lacks: boolean): Progress | null {
  const { server } = namesOf(checkup.deploymentId)
  const alone = { key: `Deployment/${server}`, generation: 0, workload: { component: 'server' as const, mark } }
  const { inForce } = checkup.keeper
  if (!inForce && !lacks) return null
  const { done, wait, problems } = inForce ? survey(checkup) : workloads(checkup, [alone])
  // that a Service leads nowhere is normal for a moment, and told when it lasts
  return problems[0] ?? (done || wait.reason === 'NO_ENDPOINTS' ? null : wait)
}
