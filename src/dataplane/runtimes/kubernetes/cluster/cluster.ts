/**
 * Interface of a cluster for the Kubernetes runtime: observed objects, fenced writes and pod logs.
 * connect-cluster.ts implements it.
 */
import type { V1EndpointSlice, V1Pod } from '@kubernetes/client-node'
import type { Logger } from 'pino'
import type { ObjectRef } from '../api-server/kinds.ts'
import type { ClusterTimes } from '../api-server/times.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'

/** The claim's fencing token, and its lease by this process's clock. */
export interface Fence {
  token: bigint
  /** called synchronously immediately before a write is sent */
  leaseValid(): boolean
}

export interface LogOptions {
  /** only lines printed at or after this time */
  since?: Date
  /** resumes after the line with this stamp */
  after?: string
  /** reads the container run before the last restart; its log does not grow */
  previous?: boolean
  /** only this many existing lines */
  tailLines?: number
}

/**
 * One cluster with one set of permissions. Every call may throw ApiRefused (a retry does not help)
 * or Unreachable (retries have failed or are impossible; retry later).
 */
export interface Cluster {
  /**
   * Watches a namespace. Resolves when all of Pilothouse's objects in it and the API server's version are known,
   * immediately if it is already watched. Retries while the API server is unavailable.
   * Throws ApiRefused without permissions (the message names namespace, verb and resource), and the signal's reason.
   * A missing namespace is not detected here, because the API lists it as empty; `apply` then fails with 404.
   */
  open(namespace: string, signal: AbortSignal): Promise<void>
  /** Minor version of Kubernetes 1.x, known once a namespace is open; 0: unknown. */
  minor(): number
  /**
   * The last observed objects of a deployment that Pilothouse made, without pods and EndpointSlices.
   * Objects of others with its labels are left out. `data` of Secrets and managedFields are not kept.
   * The objects are shared: callers must not change them.
   */
  objects(deploymentId: string): LiveObject[]
  /** The last observed version of an object, also of another manager's. Shared: callers must not change it. */
  observed(ref: ObjectRef): LiveObject | undefined
  /**
   * The last observed pods, as raw JSON: times are strings, although V1Pod declares Dates. Shared: don't change them.
   */
  pods(deploymentId: string): V1Pod[]
  /**
   * The last observed EndpointSlices of its Services; null: they are currently not watched, or never for lack of
   * permissions. Shared: callers must not change them.
   */
  endpoints(namespace: string, deploymentId: string): V1EndpointSlice[] | null
  /** Unavailable optional kinds of a namespace, each with the reason in sentences. */
  refused(namespace: string): ReadonlyMap<string, string>
  /**
   * Calls `listener` when an object, pod or endpoint of a deployment was added, changed or deleted: once per
   * deployment and tick, also for own writes. Returns the unsubscribe function.
   */
  onChange(listener: (deploymentId: string) => void): () => void
  /** Reads an object from the API server, with a Secret's data; null: it does not exist. */
  read(ref: ObjectRef): Promise<LiveObject | null>
  /**
   * Server-side apply with the field manager `pilothouse`, forced, against the version that was read, with the token.
   * Returns the server's object; `objects` may show it a moment later. When it throws, nothing was written:
   * StaleError (the object, or the `-database` Secret of an absent object, has a newer token), LeaseOverError,
   * NotNowError (the object is terminating; or object and `-database` Secret are absent: that Secret comes first).
   */
  apply(manifest: Manifest, fence: Fence): Promise<LiveObject>
  /**
   * Writes only the token on an object, so that older holders can't write it. Does nothing for an absent or
   * terminating object. Throws StaleError and LeaseOverError.
   */
  writeToken(ref: ObjectRef, fence: Fence): Promise<void>
  /**
   * Deletes an object if it still has the observed uid and no newer holder has it. Resolves when the server accepts,
   * or when the object is gone or replaced. Finalizers and pods may take longer; the watch shows the end.
   * Foreground: dependents go first. Default: background. Throws StaleError and LeaseOverError.
   */
  remove(object: LiveObject, fence: Fence, propagation?: 'foreground' | 'background'): Promise<void>
  /** Warning events of an object, newest first, as `Reason: message`. */
  warnings(namespace: string, uid: string): Promise<string[]>
  /**
   * Follows a container's log until the container ends or the signal aborts, then resolves. Unreachable: the
   * connection
   * was cut; resume with `after`, the last stamp. Very long lines are cut; otherwise lines are raw, with control
   * characters.
   * `at`: time of printing. ApiRefused 400: the container has not started; 404: the pod is gone.
   */
  followLog(
    pod: { namespace: string; name: string },
    container: string,
    options: LogOptions,
    onLine: (line: string, at: Date, stamp: string) => void,
    signal: AbortSignal,
  ): Promise<void>
  /** Problem of the access to the cluster, for health endpoints; null: none. */
  problem(): string | null
  /** Ends all watches, logs and calls. */
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
