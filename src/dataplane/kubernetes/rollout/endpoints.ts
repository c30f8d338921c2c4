/**
 * Finds why a deployment has no endpoints although its pods are ready: a changed selector, a slow cluster, or an HTTPRoute that its
 * Gateway refuses by its listeners' rules for namespaces and hosts, or for its backend. Pure.
 */
import type { V1EndpointSlice, V1Pod } from '@kubernetes/client-node'
import type { Progress } from '../../../domain/protocol/protocol.ts'
import { componentOf } from '../objects/labels.ts'
import type { Component, LiveObject } from '../objects/types.ts'
import { isActive, isReady } from './pod-problems.ts'
import type { Problem } from './problem.ts'

const OF_SERVICE = 'kubernetes.io/service-name'
/** ms; the cluster adds an endpoint shortly after its pod is ready */
const GRACE_MS = 3000

export interface ServiceWithoutEndpoints extends Problem {
  component: Component
}

/** `slices`: null if they are not watched. A Service without slices is skipped, because its state is unknown. */
export function servicesWithoutEndpoints(
  objects: readonly LiveObject[],
  pods: readonly V1Pod[],
  slices: readonly V1EndpointSlice[] | null,
): ServiceWithoutEndpoints[] {
  if (!slices) return []
  return objects.flatMap((service): ServiceWithoutEndpoints[] => {
    const component = componentOf(service)
    if (service.kind !== 'Service' || !component) return []
    const { name, uid } = service.metadata
    const ownSlices = slices.filter(({ metadata }) => metadata?.labels?.[OF_SERVICE] === name)
    const ready = pods.filter((pod) => componentOf(pod) === component && isReady(pod) && isActive(pod))
    const uids = new Set(ready.map(({ metadata }) => metadata?.uid))
    const hasEndpoints = ownSlices.some(({ endpoints }) =>
      // an absent `ready` means unknown, which counts as ready
      (endpoints ?? []).some(
        ({ conditions, targetRef }) => conditions?.ready !== false && (!targetRef?.uid || uids.has(targetRef.uid)),
      ),
    )
    if (ownSlices.length === 0 || ready.length === 0 || hasEndpoints) return []
    const are = ready.length === 1 ? 'pod is' : 'pods are'
    const message = `The Service ${name} has no endpoints, although ${ready.length} ${component} ${are} ready: no request reaches them`
    return [{ component, key: `${uid}/endpoints`, reason: 'NO_ENDPOINTS', message, graceMs: GRACE_MS }]
  })
}

/** The Gateway's controller sets them in the status of the route. */
const CONDITIONS = ['Accepted', 'ResolvedRefs']

interface Condition {
  type: string
  status: string
  reason: string
  message: string
}

/** Progress for users; null: no Gateway refuses a route. */
export function refusedRoute(objects: readonly LiveObject[]): Progress | null {
  const parents = objects
    .filter(({ kind }) => kind === 'HTTPRoute')
    .flatMap(({ status }) => (status as { parents?: { conditions?: Condition[] }[] } | undefined)?.parents ?? [])
  const refusal = parents
    .flatMap(({ conditions = [] }) => conditions)
    .find(({ type, status }) => CONDITIONS.includes(type) && status === 'False')
  if (!refusal) return null
  const message = `The Gateway refuses the deployment’s HTTPRoute (${refusal.reason}): ${refusal.message}`
  return { reason: 'NO_ENDPOINTS', message }
}
