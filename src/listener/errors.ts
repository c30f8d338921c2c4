/**
 * What a call to the control plane can fail with, beside ClaimLostError. Messages are for people, and have nothing
 * in them of what was sent or answered but codes and names of fields.
 */

/** The same call won't succeed before somebody mends something: the key, the id, the address, a version. */
export class ControlPlaneRefused extends Error {
  override name = 'ControlPlaneRefused'
  /** of HTTP; null: it was refused here, for what it answered */
  readonly status: number | null

  constructor(message: string, status: number | null = null) {
    super(message)
    this.status = status
  }
}

/** The control plane was not reached, did not answer in time, or said 5xx or 429. The same call may succeed later. */
export class ControlPlaneUnreachable extends Error {
  override name = 'ControlPlaneUnreachable'
}
