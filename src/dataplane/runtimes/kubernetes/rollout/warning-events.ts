/**
 * Problems that show in no status, only in Warning events: a database whose pod is not allowed, a volume that can't be
 * mounted, what a probe got for an answer. Asked for only when a workload has been getting nowhere for a while.
 */
import type { V1Pod } from '@kubernetes/client-node'
import type { Reason } from '../../../../domain/protocol/protocol.ts'
import { withAdvice } from '../api-server/messages.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Component, LiveObject } from '../objects/types.ts'
import type { Problem } from './pod-problems.ts'

/** Something that gets nowhere, and how long a warning about it may last. */
export interface Stuck {
  uid: string
  namespace: string
  what: string
  reason: Reason
  /** so long it is left alone before it is asked about */
  quietMs: number
  graceMs: number
}

/** a controller makes a pod in a moment */
const QUIET_MS = 5000
/** volumes are there by then: nothing is wrong with a pod that has them and pulls its image, however long that takes */
const QUIET_POD_MS = 20_000
/** an agent may take so long to start without anything being wrong; a kubelet of before 1.29 doesn't say what it waits for */
const QUIET_START_MS = 60_000
/** it may be no more than what is left of an earlier try */
const WARNING_GRACE_MS = 2000

/** What of a workload shows no reason for being not ready. */
export function stuckOf(
  component: Component,
  workload: LiveObject,
  unready: readonly V1Pod[],
  pods: readonly V1Pod[],
  failAfterMs: number,
): Stuck[] {
  const { uid, namespace } = workload.metadata
  if (workload.kind === 'StatefulSet' && pods.length === 0) {
    const what = `The cluster refuses the pod of ${component}`
    return [{ uid, namespace, what, reason: 'CLUSTER_REFUSED', quietMs: QUIET_MS, graceMs: WARNING_GRACE_MS }]
  }
  return unready
    .filter((pod) => !isPulling(pod))
    .map((pod): Stuck => {
      const { uid = '', name } = pod.metadata ?? {}
      const made = isBeingMade(pod)
      const common = { uid, namespace, quietMs: made && sandboxOf(pod) === 'False' ? QUIET_POD_MS : QUIET_START_MS }
      return made
        ? { ...common, what: `Pod ${name} can't be started`, reason: 'CONTAINER_START_FAILED', graceMs: failAfterMs }
        : // its probes fail: how long they may is for the deadline to say
          {
            ...common,
            what: `Pod ${name} is not ready`,
            reason: 'WAITING_FOR_HEALTH',
            graceMs: Number.POSITIVE_INFINITY,
          }
    })
}

/** It has a node, and none of its containers has ever run. */
function isBeingMade({ status, spec }: V1Pod): boolean {
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]
  return (
    Boolean(spec?.nodeName) &&
    containers.every(({ state, lastState }) => !state?.running && !state?.terminated && !lastState?.terminated)
  )
}

/** Whether its volumes and its address are there, as kubelets say it from 1.29 on. */
function sandboxOf({ status }: V1Pod): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers')?.status
}

/** All it waits for is its image, and that a pull fails shows in its status. */
const isPulling = (pod: V1Pod): boolean => isBeingMade(pod) && sandboxOf(pod) === 'True'

/** The newest warning about each, as a problem. Never throws: who may not read events does without. */
export async function warningsAbout(cluster: Cluster, stuck: readonly Stuck[]): Promise<Problem[]> {
  const asked = stuck.slice(0, 3).map(async ({ uid, namespace, what, reason, graceMs }): Promise<Problem[]> => {
    const [newest] = await cluster.warnings(namespace, uid).catch(() => [])
    return newest === undefined
      ? []
      : [{ key: `${uid}/warning`, reason, message: withAdvice(`${what}: ${newest}`), graceMs }]
  })
  return (await Promise.all(asked)).flat()
}
