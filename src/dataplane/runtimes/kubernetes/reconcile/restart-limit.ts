/**
 * Limits how many deployments restart database and cache at the same time because this process renders other pods than the
 * one before (a setting, a newer version). A deploy, and a changed resource spec, are the deployment's own and not limited.
 */

/** of the deployments that this process holds; at least one */
const RESTART_SHARE = 0.1

export class RestartLimit {
  readonly #held: () => number
  readonly #restarting = new Set<string>()
  /** by deployment, the longest waiting first: called when it may ask again */
  readonly #waiting = new Map<string, () => void>()

  /** `held`: how many deployments this process holds. */
  constructor(held: () => number) {
    this.#held = held
  }

  /** True: it may restart, and counts until `end`. False: `onFree` is called when it may ask again. */
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

  /** Its database and cache are ready again, or it is not held any more. */
  end(deploymentId: string): void {
    this.#waiting.delete(deploymentId)
    if (!this.#restarting.delete(deploymentId)) return
    const [next] = this.#waiting
    if (!next) return
    this.#waiting.delete(next[0])
    next[1]()
  }
}
