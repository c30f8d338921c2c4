/** A cluster as the runtime uses it: observed objects, fenced writes and pod logs.  */
import type { V1EndpointSlice, V1Pod } from '@kubernetes/client-node'
import type { Logger } from 'pino'
import { Api } from '../api-server/api.ts'
import { ApiRefused } from '../api-server/errors.ts'
import { ENDPOINTS, kindOf, type ObjectRef } from '../api-server/kinds.ts'
import { type ClusterTimes, DEFAULT_TIMES, retrying } from '../api-server/retry.ts'
import { Informers } from '../informers/informers.ts'
import { type ClusterAccess, Store } from '../informers/store.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'
import { Anchors } from './anchors.ts'
import type { Fence } from './fencing.ts'
import { followLog, type LogOptions } from './follow-log.ts'
import { readOnce, warnings } from './read.ts'
import { apply, remove, writeToken } from './write.ts'

/** One cluster with one set of permissions. Any call may throw ApiRefused (final) or Unreachable (retry later). */
export interface Cluster {
  /**
   * Watches a namespace. Resolves when its objects and the API server's version are known. Retries during outages.
   * Throws the signal's reason, and ApiRefused that names a missing permission.
   * The API lists a missing namespace as empty, so only `apply` detects it (404).
   */
  open(namespace: string, signal: AbortSignal): Promise<void>
  /** Minor version of Kubernetes 1.x, known once a namespace is open; 0: unknown. */
  minor(): number
  /**
   * The last observed objects made by Pilothouse, without pods, EndpointSlices, managedFields and Secrets' `data`.
   * They are shared: don't change them.
   */
  objects(deploymentId: string): LiveObject[]
  /** The last observed version of an object, also of another manager's. Shared: callers must not change it. */
  observed(ref: ObjectRef): LiveObject | undefined
  /** The last observed pods as raw JSON, so times are strings although V1Pod declares Dates. Shared. */
  pods(deploymentId: string): V1Pod[]
  /** EndpointSlices of the deployment's Services; null: not watched now, or never without permission. Shared. */
  endpoints(namespace: string, deploymentId: string): V1EndpointSlice[] | null
  /** Unavailable optional kinds of a namespace, each with the reason in sentences. */
  refused(namespace: string): ReadonlyMap<string, string>
  /** Calls `listener` once per deployment and tick after any change, also an own one. Returns the unsubscriber. */
  onChange(listener: (deploymentId: string) => void): () => void
  /** Reads an object from the API server, with a Secret's data; null: it does not exist. */
  read(ref: ObjectRef): Promise<LiveObject | null>
  /**
   * Server-side apply, forced, against the version that was read, with the token. `objects` may show it later.
   * Nothing was written when it throws: StaleError (this object, or the anchor of an absent one, has a newer token),
   * LeaseOverError, NotNowError (the object is terminating, or it and its anchor are absent).
   */
  apply(manifest: Manifest, fence: Fence): Promise<LiveObject>
  /**
   * Writes only the token, so that older holders can't write the object. Skips absent and terminating objects.
   * Throws StaleError and LeaseOverError.
   */
  writeToken(ref: ObjectRef, fence: Fence): Promise<void>
  /**
   * Deletes an object with the observed uid, unless a newer holder has it. The watch shows its end.
   * Foreground: dependents go first. Default: background. Throws StaleError and LeaseOverError.
   */
  remove(object: LiveObject, fence: Fence, propagation?: 'foreground' | 'background'): Promise<void>
  warnings(namespace: string, uid: string): Promise<string[]>
  /**
   * Follows a container's log until the container ends or the signal aborts. Lines are raw; very long ones are cut.
   * Unreachable: resume with `after`, the last stamp. ApiRefused 400: not started; 404: the pod is gone.
   */
  followLog(
    pod: { namespace: string; name: string },
    container: string,
    options: LogOptions,
    onLine: (line: string, at: Date, stamp: string) => void,
    signal: AbortSignal,
  ): Promise<void>
  /** Problem for health endpoints; null: none. */
  problem(): string | null
  close(): Promise<void>
}

export interface ClusterOptions {
  /** path of a kubeconfig file; none: KUBECONFIG, ~/.kube/config, or the pod's service account */
  kubeconfig?: string
  log: Logger
  times?: Partial<ClusterTimes>
  /** concurrent calls, without watches and followed logs. Default: 16 */
  callsAtATime?: number
}

/** Rejects when the kubeconfig is unreadable or names no cluster. The API server may be unavailable. */
export async function connectCluster(options: ClusterOptions): Promise<Cluster> {
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
  const anchors = new Anchors(access)

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

  return {
    async open(namespace, signal) {
      await Promise.all([informers.open(namespace, signal), readVersion()])
    },
    minor: () => minor ?? 0,
    objects: (deploymentId) =>
      store.byDeployment(deploymentId).filter((object) => !isPod(object) && !isEndpoints(object)),
    observed: (ref) => store.get(ref),
    // raw JSON of the API: times are strings, although V1Pod declares Dates
    pods: (deploymentId) => store.byDeployment(deploymentId).filter(isPod) as unknown as V1Pod[],
    endpoints: (namespace, deploymentId) =>
      informers.isCurrent(namespace, ENDPOINTS)
        ? (store.byDeployment(deploymentId).filter(isEndpoints) as unknown as V1EndpointSlice[])
        : null,
    refused: (namespace) => informers.refused(namespace),
    onChange: (listener) => store.onChange(listener),
    read: (ref) => retrying(times, () => readOnce(access, ref)),
    apply: (manifest, fence) => apply(access, anchors, manifest, fence),
    writeToken: (ref, fence) => writeToken(access, ref, fence),
    remove: (object, fence, propagation = 'background') => remove(access, object, fence, propagation),
    warnings: (namespace, uid) => warnings(access, namespace, uid),
    followLog: (pod, container, options, onLine, signal) =>
      followLog(access, { pod, container }, options, onLine, signal),
    problem: () => informers.problem(),
    async close() {
      informers.close()
      api.close()
    },
  }
}

const isPod = ({ kind }: LiveObject) => kind === 'Pod'
const isEndpoints = ({ kind }: LiveObject) => kind === ENDPOINTS.kind
