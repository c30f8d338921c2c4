/** A cluster as the runtime uses it: observed objects, fenced writes and pod logs.  */
import type { V1EndpointSlice, V1Pod } from '@kubernetes/client-node'
import type { Logger } from 'pino'
import { Api } from '../api-server/api.ts'
import { ApiRefused } from '../api-server/errors.ts'
import { ENDPOINTS, kindOf, type ObjectRef } from '../api-server/kinds.ts'
import { type ClusterTimes, DEFAULT_TIMES, retrying } from '../api-server/retry.ts'
import { Informers } from '../informers/informers.ts'
import { type ClusterAccess, Store } from '../informers/store.ts'
import type { LiveObject } from '../objects/types.ts'
import { followLog, type LogArguments } from './follow-log.ts'
import { podUsage, readOnce, warnings } from './read.ts'
import { createWriter } from './write.ts'

export interface ClusterOptions {
  /** path of a kubeconfig file; none: KUBECONFIG, ~/.kube/config, or the pod's service account */
  kubeconfig?: string
  log: Logger
  times?: Partial<ClusterTimes>
  /** concurrent calls, without watches and followed logs. Default: 16 */
  callsAtATime?: number
}

/** Rejects when the kubeconfig is unreadable or names no cluster. The API server may be unavailable. */
export async function connectCluster(options: ClusterOptions) {
  const times = { ...DEFAULT_TIMES, ...options.times }
  const store = new Store()
  const api = new Api({
    kubeconfig: options.kubeconfig,
    callsAtATime: options.callsAtATime ?? 16,
    callMs: times.call,
    silenceMs: times.silence,
    onTimeout: () => informers.renew(),
  })
  const isCurrent: ClusterAccess['isCurrent'] = (ref) => informers.isCurrent(ref.namespace, kindOf(ref))
  const access: ClusterAccess = { api, store, times, isCurrent }
  const informers = new Informers(access, options.log)

  let minor: number | null = null
  async function readVersion(): Promise<void> {
    if (minor !== null) return
    const call = () => api.call<{ minor?: string }>({ method: 'GET', path: '/version', action: 'read its version' })
    try {
      // some providers return `32+`
      minor = Number.parseInt((await retrying(times, call)).minor ?? '', 10) || 0
    } catch (error) {
      if (!(error instanceof ApiRefused)) throw error
      minor = 0
    }
  }

  const ofKind = (name: string, deploymentId: string) =>
    store.byDeployment(deploymentId).filter(({ kind }) => kind === name)

  return {
    /**
     * Watches a namespace. Resolves when its objects and the API server's version are known. Retries during outages.
     * Throws the signal's reason, and ApiRefused that names a missing permission.
     * The API lists a missing namespace as empty, so only `apply` detects it (404).
     */
    async open(namespace: string, signal: AbortSignal): Promise<void> {
      await Promise.all([informers.open(namespace, signal), readVersion()])
    },
    /** Namespace of this process's pod; null: it may run outside of the cluster, and reaches no Services. */
    podNamespace: api.podNamespace,
    /** Minor version of Kubernetes 1.x, known once a namespace is open; 0: unknown. */
    minor: () => minor ?? 0,
    /**
     * The last observed objects made by Pilothouse, without pods, EndpointSlices, managedFields and Secrets' `data`.
     * They are shared: don't change them.
     */
    objects: (deploymentId: string): LiveObject[] =>
      store.byDeployment(deploymentId).filter(({ kind }) => kind !== 'Pod' && kind !== ENDPOINTS.kind),
    /** The last observed version of an object, also of another manager's. Shared: callers must not change it. */
    observed: (ref: ObjectRef) => store.get(ref),
    /** The last observed pods as raw JSON, so times are strings although V1Pod declares Dates. Shared. */
    pods: (deploymentId: string) => ofKind('Pod', deploymentId) as unknown as V1Pod[],
    /** EndpointSlices of the deployment's Services; null: not watched now, or never without permission. Shared. */
    endpoints: (namespace: string, deploymentId: string) =>
      informers.isCurrent(namespace, ENDPOINTS)
        ? (ofKind(ENDPOINTS.kind, deploymentId) as unknown as V1EndpointSlice[])
        : null,
    /** CPU and memory by name of the pod; null: the cluster does not tell. */
    podUsage: (namespace: string) => podUsage(api, namespace),
    /** Unavailable optional kinds of a namespace, each with the reason in sentences. */
    refused: (namespace: string): ReadonlyMap<string, string> => informers.refused(namespace),
    /** Calls `listener` once per deployment and tick after any change, also an own one. Returns the unsubscriber. */
    onChange: (listener: (deploymentId: string) => void) => store.onChange(listener),
    /** Reads an object from the API server, with a Secret's data; null: it does not exist. */
    read: (ref: ObjectRef) => retrying(times, () => readOnce(access, ref)),
    ...createWriter(access),
    /** Messages of the Warning events about an object, newest first. */
    warnings: (namespace: string, uid: string) => warnings(access, namespace, uid),
    followLog: (...log: LogArguments) => followLog(api, ...log),
    /** Problem for health endpoints; null: none. */
    problem: () => informers.problem(),
    async close() {
      informers.close()
      api.close()
    },
  }
}

/** One cluster with one set of permissions. Any call may throw ApiRefused (final) or Unreachable (retry later). */
export type Cluster = Awaited<ReturnType<typeof connectCluster>>
