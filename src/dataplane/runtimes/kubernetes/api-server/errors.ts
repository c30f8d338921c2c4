/**
 * What can go wrong between us and an API server, sorted by what the caller has to do about it. Messages are
 * for people; none has the content of an object in it.
 */

/** A newer holder of the deployment has written already: ours is a late write, and nothing was written. Give up. */
export class StaleError extends Error {
  override name = 'StaleError'
}

/** The lease is over by our own clock: nothing was written. Give up. */
export class LeaseOverError extends Error {
  override name = 'LeaseOverError'
}

/**
 * The object can't be applied as things stand, and nothing was written: it is being deleted, or something that
 * has to be there first is missing. To be tried again when something has changed.
 */
export class NotNowError extends Error {
  override name = 'NotNowError'
}

/** Refused (4xx) in a way that trying the same again does not mend: rights, quota, an invalid manifest, a missing namespace. */
export class ApiRefused extends Error {
  override name = 'ApiRefused'
  /** of HTTP */
  readonly status: number
  /** one word of the API server's Status: Forbidden, Invalid, NotFound, Conflict … */
  readonly reason: string

  /** `message`: for people; the API server's own words where it gave some. */
  constructor(status: number, reason: string, message: string) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

/** Reason of a conflict: there is no such object, and one that names a version is not made. */
export const NO_SUCH_VERSION = 'NoSuchVersion'

/** The API server was not reached, did not answer in time, or said 5xx or 429. To be tried again. */
export class Unreachable extends Error {
  override name = 'Unreachable'
  /** what the server asked us to wait (Retry-After), null: it did not say */
  readonly retryAfterMs: number | null

  constructor(message: string, retryAfterMs: number | null = null, options?: ErrorOptions) {
    super(message, options)
    this.retryAfterMs = retryAfterMs
  }
}

/** Others write the object so often that no version of it lasts until it is written here. */
export class Contended extends Unreachable {
  override name = 'Contended'
}

/** The cluster was closed here. */
export class ClusterClosedError extends Error {
  override name = 'ClusterClosedError'
}
