/** Errors of control plane calls. Messages contain only codes and field names of requests and responses. */

/** A retry fails until someone fixes the key, id, address or version. */
export class ControlPlaneRefused extends Error {
  override name = 'ControlPlaneRefused'
  /** HTTP status; null: the response itself was unusable */
  readonly status: number | null

  constructor(message: string, status: number | null = null) {
    super(message)
    this.status = status
  }
}

/** The control plane was unreachable, timed out, or returned 5xx or 429. A retry may succeed. */
export class ControlPlaneUnreachable extends Error {
  override name = 'ControlPlaneUnreachable'
}
