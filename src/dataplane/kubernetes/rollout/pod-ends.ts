/** Tells when terminating pods must be gone: a teardown or a rollout waits for them until then. */
import type { V1Pod } from '@kubernetes/client-node'

/** ms after its grace period until a node has reported the end of a pod */
const POD_REPORT_DELAY_MS = 60_000

/** Counts by this process's clock, from the first observation of a terminating pod. */
export class PodEnds {
  /** by pod uid: performance.now() when the pod must be gone */
  #ends = new Map<string, number>()

  /** performance.now() when all terminating pods of `pods` must be gone; 0: none is terminating. */
  latest(pods: readonly V1Pod[]): number {
    const now = performance.now()
    const before = this.#ends
    this.#ends = new Map()
    for (const { metadata } of pods) {
      const { uid = '', deletionTimestamp, deletionGracePeriodSeconds = 0 } = metadata ?? {}
      const endsAt = before.get(uid) ?? now + deletionGracePeriodSeconds * 1000 + POD_REPORT_DELAY_MS
      if (deletionTimestamp) this.#ends.set(uid, endsAt)
    }
    return Math.max(0, ...this.#ends.values())
  }
}
