/**
 * Services that lead nowhere although pods of theirs are ready: somebody has changed a selector, or the cluster does not
 * keep up. Read from the EndpointSlices that the cluster makes for each Service that has a selector. Pure.
 */
import type { V1EndpointSlice, V1Pod } from '@kubernetes/client-node'
import { componentOf } from './component.ts'
import { isGoing, isReady, type Problem } from './pod-problems.ts'
import type { Component, LiveObject } from './types.ts'

const OF_SERVICE = 'kubernetes.io/service-name'
/** a cluster tells its endpoints a moment after a pod is ready */
const MOMENT_MS = 3000

export interface Unreached extends Problem {
  component: Component
}

/** `slices`: null where they can't be seen. A Service without any slice is one of which nothing is known. */
export function unreachedServices(
  objects: readonly LiveObject[],
  pods: readonly V1Pod[],
  slices: readonly V1EndpointSlice[] | null,
): Unreached[] {
  if (!slices) return []
  return objects.flatMap((service): Unreached[] => {
    const component = componentOf(service)
    if (service.kind !== 'Service' || !component) return []
    const { name, uid } = service.metadata
    const its = slices.filter(({ metadata }) => metadata?.labels?.[OF_SERVICE] === name)
    const ready = pods.filter((pod) => componentOf(pod) === component && isReady(pod) && !isGoing(pod))
    const uids = new Set(ready.map(({ metadata }) => metadata?.uid))
    const leads = its.some(({ endpoints }) =>
      // absent: the cluster does not know that it is not
      (endpoints ?? []).some(
        ({ conditions, targetRef }) => conditions?.ready !== false && (!targetRef?.uid || uids.has(targetRef.uid)),
      ),
    )
    if (its.length === 0 || ready.length === 0 || leads) return []
    const are = ready.length === 1 ? 'pod is' : 'pods are'
    const message = `The Service ${name} has no endpoints, although ${ready.length} ${component} ${are} ready: no request reaches them`
    return [{ component, key: `${uid}/endpoints`, reason: 'NO_ENDPOINTS', message, graceMs: MOMENT_MS }]
  })
}
