/**
 * What the Kubernetes runtime needs of a cluster, and nothing more: our objects as last observed, writes that are
 * fenced, and the logs of pods. connect-cluster.ts makes one.
 */
import type { V1EndpointSlice, V1Pod } from '@kubernetes/client-node'
import type { Logger } from 'pino'
import type { ObjectRef } from '../api-server/kinds.ts'
import type { ClusterTimes } from '../api-server/times.ts'
import type { LiveObject, Manifest } from '../objects/types.ts'

/** Who writes: the claim's fencing token, and whether the lease still holds by our own clock. */
export interface Fence {
  token: bigint
  /** asked synchronously right before a write is sent */
  leaseValid(): boolean
}

export interface LogOptions {
  /** only lines that were printed then or later */
  since?: Date
  /** to go on after a cut: the `stamp` of the last line that came; only later lines come */
  after?: string
  /** of the container that ran before the last restart; such a log does not grow */
  previous?: boolean
  /** only so many of the lines that there are already */
  tailLines?: number
}

/**
 * One cluster, with one set of rights. Every call may throw ApiRefused (trying again does not mend it) or
 * Unreachable (it has been tried several times, or could not be; try again later).
 */
export interface Cluster {
  /**
   * Watches a namespace: resolves when all objects of ours there are known (at once when it is watched already), and the
   * version of the API server is.
   * Throws ApiRefused when we have no rights there (the message names namespace, verb and resource), and the
   * signal's reason when that aborts. Keeps trying while the API server is away. A namespace that does not exist
   * is not noticed here (the API lists it as empty); `apply` is refused there with 404.
   */
  open(namespace: string, signal: AbortSignal): Promise<void>
  /** Minor of its version 1.x, known once a namespace is open; 0: the API server does not tell. */
  minor(): number
  /**
   * The objects of a deployment that we made, as last observed, without pods and endpoints. Objects with its labels that
   * somebody else made are left out. `data` of Secrets and managedFields are not kept. They are shared: not to be changed.
   */
  objects(deploymentId: string): LiveObject[]
  /** One object as last observed, also if somebody else made it. Shared: not to be changed. */
  observed(ref: ObjectRef): LiveObject | undefined
  /** Its pods as last observed: the API's JSON, so that times are strings whatever V1Pod says. Shared: not to be changed. */
  pods(deploymentId: string): V1Pod[]
  /**
   * The EndpointSlices of its Services as last observed; null: they are not watched just now, by our rights or at all.
   * Shared: not to be changed.
   */
  endpoints(namespace: string, deploymentId: string): V1EndpointSlice[] | null
  /** Kinds that can be done without and can't be had in a namespace, each with why, in sentences. */
  refused(namespace: string): ReadonlyMap<string, string>
  /**
   * Calls `listener` when an object, pod or endpoint of a deployment was observed added, changed or removed: once per
   * deployment and tick, also for what we did ourselves. Returns how to stop it.
   */
  onChange(listener: (deploymentId: string) => void): () => void
  /** Straight from the server, with the data of a Secret; null: there is none. */
  read(ref: ObjectRef): Promise<LiveObject | null>
  /**
   * Server-side apply by the field manager `pilothouse` with force, against the version that was read, annotated
   * with the token. Answers what the server then has; `objects` may learn of it a moment later.
   * Nothing is written when it throws StaleError (the object, or for one that is absent the deployment's
   * `-database` Secret, has a newer token), LeaseOverError, or NotNowError (it is being deleted; or it is absent
   * and so is the `-database` Secret, which has to be applied before all else).
   */
  apply(manifest: Manifest, fence: Fence): Promise<LiveObject>
  /**
   * Writes the token on the object, which stays as it is otherwise, so that no older holder writes it any more; does
   * nothing when it is gone or being deleted. Throws StaleError and LeaseOverError.
   */
  writeToken(ref: ObjectRef, fence: Fence): Promise<void>
  /**
   * Deletes it if it is still the one that was observed (uid) and no newer holder's. Resolves when the server has
   * accepted that, or the object is gone, or another one has its name: finalizers and pods may take longer, the
   * watch tells. Throws StaleError and LeaseOverError. Foreground: dependents go first; default: background.
   */
  remove(object: LiveObject, fence: Fence, propagation?: 'foreground' | 'background'): Promise<void>
  /** Warning events about an object, newest first, as `Reason: message`. */
  warnings(namespace: string, uid: string): Promise<string[]>
  /**
   * Lines of a container's log, until the container ends or the signal aborts (then it resolves). A cut is
   * Unreachable: go on with `after`, the stamp of the last line. Very long lines are cut short, otherwise they are as they were
   * printed, control characters and all. `at`: when it was printed.
   * ApiRefused 400 while the container has not started, 404 when the pod is gone.
   */
  followLog(
    pod: { namespace: string; name: string },
    container: string,
    options: LogOptions,
    onLine: (line: string, at: Date, stamp: string) => void,
    signal: AbortSignal,
  ): Promise<void>
  /** null: all is well; otherwise what is wrong with our access, for people (health endpoints). */
  problem(): string | null
  /** Ends all watches, logs and calls. */
  close(): Promise<void>
}

export interface ClusterOptions {
  /** a kubeconfig file; none: KUBECONFIG, ~/.kube/config, or the pod's service account */
  kubeconfig?: string
  log: Logger
  times?: Partial<ClusterTimes>
  /** calls in flight at a time, watches and followed logs not counted. Default: 16 */
  callsAtATime?: number
}
