/**
 * Reads problems that only Warning events show: a forbidden pod, a volume that can't be mounted, a failed probe.
 * Events are queried only for a workload that makes no progress.
 */
import type { V1Pod } from '@kubernetes/client-node'
import type { Reason } from '../../../domain/protocol/protocol.ts'
import { withAdvice } from '../api-server/messages.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Component, LiveObject } from '../objects/types.ts'
import type { Problem } from './problem.ts'

/** An object without progress, with the grace period of its warnings. */
export interface Stuck {
  uid: string
  namespace: string
  subject: string
  reason: Reason
  /** ms without progress before its events are queried */
  quietMs: number
  graceMs: number
}

/** ms in which a controller creates a pod */
const QUIET_MS = 5000
/** ms in which volumes are mounted; afterwards a slow image pull is no problem */
const QUIET_POD_MS = 20_000
/** ms that an agent may need to start; a kubelet before 1.29 does not report what it waits for */
const QUIET_START_MS = 60_000
/** ms, because the warning may belong to an earlier try */
const WARNING_GRACE_MS = 2000

/** Returns the objects that are unready without a visible reason. */
export function stuckOf(
  component: Component,
  workload: LiveObject,
  unready: readonly V1Pod[],
  pods: readonly V1Pod[],
  failAfterMs: number,
): Stuck[] {
  const { uid, namespace } = workload.metadata
  if (workload.kind === 'StatefulSet' && pods.length === 0) {
    const subject = `The cluster refuses the pod of ${component}`
    return [{ uid, namespace, subject, reason: 'CLUSTER_REFUSED', quietMs: QUIET_MS, graceMs: WARNING_GRACE_MS }]
  }
  return unready
    .filter((pod) => !isPulling(pod))
    .map((pod): Stuck => {
      const { uid = '', name } = pod.metadata ?? {}
      const made = isBeingMade(pod)
      const common = { uid, namespace, quietMs: made && sandboxOf(pod) === 'False' ? QUIET_POD_MS : QUIET_START_MS }
      return made
        ? { ...common, subject: `Pod ${name} can't be started`, reason: 'CONTAINER_START_FAILED', graceMs: failAfterMs }
        : // its probes fail: how long they may is for the deadline to say
          {
            ...common,
            subject: `Pod ${name} is not ready`,
            reason: 'WAITING_FOR_HEALTH',
            graceMs: Number.POSITIVE_INFINITY,
          }
    })
}

/** True: the pod has a node and none of its containers has run. */
function isBeingMade({ status, spec }: V1Pod): boolean {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  return (
    Boolean(spec?.nodeName) &&
    containers.every(({ state, lastState }) => !state?.running && !state?.terminated && !lastState?.terminated)
  )
}

/** Status of volumes and address (PodReadyToStartContainers), which kubelets report since 1.29. */
function sandboxOf({ status }: V1Pod): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers')?.status
}

/** True: the pod waits only for its image. The status shows a failed pull. */
const isPulling = (pod: V1Pod): boolean => isBeingMade(pod) && sandboxOf(pod) === 'True'

/**
 * Returns the newest warning of each object as a problem. Never throws: without permission to read events it returns
 * none.
 */
export async function warningsAbout(cluster: Cluster, stuck: readonly Stuck[]): Promise<Problem[]> {
  const asked = stuck.slice(0, 3).map(async ({ uid, namespace, subject, reason, graceMs }): Promise<Problem[]> => {
    const [newest] = await cluster.warnings(namespace, uid).catch(() => [])
    return newest === undefined
      ? []
      : [{ key: `${uid}/warning`, reason, message: withAdvice(`${subject}: ${newest}`), graceMs }]
  })
  return (await Promise.all(asked)).flat()
}
