/**
 * Limits concurrent restarts of databases and caches that a new setting or version of Pilothouse causes.
 * Users' own changes (deploys, resource specs) are not limited.
 */

/** share of this process's deployments; at least one may restart */
const RESTART_SHARE = 0.1

export class RestartLimit {
  readonly #held: () => number
  readonly #restarting = new Set<string>()
  /** by deployment, longest-waiting first; called when it may ask again */
  readonly #waiting = new Map<string, () => void>()

  /** `held` returns the number of this process's deployments. */
  constructor(held: () => number) {
    this.#held = held
  }

  /** True: it may restart and counts until `end`. False: `onFree` is called when it may ask again. */
  begin(deploymentId: string, onFree: () => void): boolean {
    if (
      !this.#restarting.has(deploymentId) &&
      this.#restarting.size >= Math.max(1, Math.floor(this.#held() * RESTART_SHARE))
    ) {
      this.#waiting.set(deploymentId, onFree)
      return false
    }
    this.#waiting.delete(deploymentId)
    this.#restarting.add(deploymentId)
    return true
  }

  isRestarting(deploymentId: string): boolean {
    return this.#restarting.has(deploymentId)
  }

  /** Ends a restart: database and cache are ready, or the claim has ended. */
  end(deploymentId: string): void {
    this.#waiting.delete(deploymentId)
    if (!this.#restarting.delete(deploymentId)) return
    const [next] = this.#waiting
    if (!next) return
    this.#waiting.delete(next[0])
    next[1]()
  }
}
