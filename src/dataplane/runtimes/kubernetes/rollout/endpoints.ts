/**
 * Services that have no endpoints although pods of theirs are ready: somebody has changed a selector, or the cluster does
 * not keep up. Read from the EndpointSlices that the cluster makes for each Service that has a selector. Pure.
 */
import type { V1EndpointSlice, V1Pod } from '@kubernetes/client-node'
import { componentOf } from '../objects/labels.ts'
import type { Component, LiveObject } from '../objects/types.ts'
import { isActive, isReady, type Problem } from './pod-problems.ts'

const OF_SERVICE = 'kubernetes.io/service-name'
/** ms: a cluster adds the endpoint a moment after a pod is ready */
const GRACE_MS = 3000

export interface ServiceWithoutEndpoints extends Problem {
  component: Component
}

/** `slices`: null where they are not watched. A Service without any slice is one of which nothing is known. */
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
    const its = slices.filter(({ metadata }) => metadata?.labels?.[OF_SERVICE] === name)
    const ready = pods.filter((pod) => componentOf(pod) === component && isReady(pod) && isActive(pod))
    const uids = new Set(ready.map(({ metadata }) => metadata?.uid))
    const hasEndpoints = its.some(({ endpoints }) =>
      // absent: the cluster does not know that it is not
      (endpoints ?? []).some(
        ({ conditions, targetRef }) => conditions?.ready !== false && (!targetRef?.uid || uids.has(targetRef.uid)),
      ),
    )
    if (its.length === 0 || ready.length === 0 || hasEndpoints) return []
    const are = ready.length === 1 ? 'pod is' : 'pods are'
    const message = `The Service ${name} has no endpoints, although ${ready.length} ${component} ${are} ready: no request reaches them`
    return [{ component, key: `${uid}/endpoints`, reason: 'NO_ENDPOINTS', message, graceMs: GRACE_MS }]
  })
}
