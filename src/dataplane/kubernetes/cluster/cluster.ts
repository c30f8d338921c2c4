/** A cluster as the runtime uses it: observed objects, fenced writes and pod logs. See connect-cluster.ts. */
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
