/** How a deployment's server is doing, for people, from what the watch has seen. */
import type { V1Deployment, V1Pod } from '@kubernetes/client-node'
import type { Health } from '../../../domain/work/protocol.ts'
import { componentOf } from './component.ts'
import { judge, type Mark } from './judge.ts'
import { namesOf } from './render/names.ts'
import type { LiveObject } from './types.ts'

/** `wanted`: replicas that there should be as long as nothing is there. `trouble`: what keeps us from acting, null: nothing. */
export function healthOf(
  deploymentId: string,
  objects: readonly LiveObject[],
  pods: readonly V1Pod[],
  mark: Mark | null,
  wanted: number,
  trouble: string | null,
): Health {
  const { server } = namesOf(deploymentId)
  const workload = objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === server)
  const { spec, status } = (workload ?? {}) as unknown as Partial<V1Deployment>
  const desired = spec?.replicas ?? wanted
  const ready = status?.readyReplicas ?? 0
  const its = pods.filter((pod) => componentOf(pod) === 'server')
  const { problems, waiting } = judge({
    component: 'server',
    workload,
    generation: 0,
    pods: its,
    mark,
    unschedulableMs: 0,
  })
  const message = trouble ?? problems[0]?.message ?? (ready < desired ? waiting : null)
  return { ready, desired, message }
}
