/** Errors of API server calls, by what the caller must do. Messages are for users, without content of objects. */

/** A newer holder has written the deployment, so nothing was written. The caller must give up. */
export class StaleError extends Error {
  override name = 'StaleError'
}

/** The lease has expired by this process's clock, so nothing was written. The caller must give up. */
export class LeaseOverError extends Error {
  override name = 'LeaseOverError'
}

/** Nothing was written: the object is terminating, or a prerequisite is missing. Retry after a change. */
export class NotNowError extends Error {
  override name = 'NotNowError'
}

/** Refused (4xx), and a retry does not help: permissions, quota, an invalid manifest, a missing namespace. */
export class ApiRefused extends Error {
  override name = 'ApiRefused'
  readonly status: number
  /** reason of the API server's Status: Forbidden, Invalid, NotFound, Conflict … */
  readonly reason: string

  /** `message`: for users; the API server's message if there is one. */
  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

/** Conflict reason: the object does not exist, and an apply with a resource version does not create it. */
export const NO_SUCH_VERSION = 'NoSuchVersion'

/** The API server was unreachable, timed out, or returned 5xx or 429. Retry. */
export class Unreachable extends Error {
  override name = 'Unreachable'
  /** the server's Retry-After in ms; null: none */
  readonly retryAfterMs: number | null

  constructor(message: string, retryAfterMs: number | null = null, options?: ErrorOptions) {
    super(message, options)
    this.retryAfterMs = retryAfterMs
  }
}

/** Others write the object so often that each write of this process conflicts. */
export class Contended extends Unreachable {
  override name = 'Contended'
}

/** This process closed the cluster. */
export class ClusterClosedError extends Error {
  override name = 'ClusterClosedError'
}
