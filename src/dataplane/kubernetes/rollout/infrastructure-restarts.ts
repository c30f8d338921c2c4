/**
 * Limits concurrent restarts of databases and caches that a new setting or version of Pilothouse causes. Users' own changes
 * (deploys, resource specs) are not limited.
 */
import { componentOf } from '../objects/labels.ts'
import type { Component } from '../objects/types.ts'
import { keyOf } from '../reconcile/drift.ts'
import { type RolloutContext, workloadsStatus } from './rollout-status.ts'

/** Options for a deployment's reconciler. `context` is called when needed, `changed` after each round. */
export function infrastructureRestarts(limit: RestartLimit, context: () => RolloutContext, changed: () => void) {
  return {
    /** A workload that is down may restart at any time. */
    mayRestart(): boolean {
      const { reconciler, deploymentId } = context()
      return !storesAreReady(context()) || limit.begin(deploymentId, () => reconciler.enqueue())
    },
    onState(): void {
      const { deploymentId } = context()
      if (limit.isRestarting(deploymentId) && restartIsOver(context())) limit.end(deploymentId)
      changed()
    },
  }
}

/** Reads the live workloads, independent of the applied manifests. */
function storesAreReady(context: RolloutContext): boolean {
  const objects = context.cluster.objects(context.deploymentId)
  const found = objects.filter(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment')
  return areReady(
    context,
    found.map((object) => ({ key: keyOf(object), generation: 0, component: componentOf(object) })),
  )
}

/** True: they are ready as applied, or the cluster refuses the change. */
function restartIsOver(context: RolloutContext): boolean {
  const { applied, synced, failure } = context.reconciler
  const found = applied.map(({ key, generation, workload }) => ({ key, generation, component: workload?.component }))
  return failure?.refused || (synced && areReady(context, found))
}

function areReady(
  context: RolloutContext,
  workloads: readonly { key: string; generation: number; component: Component | undefined }[],
): boolean {
  const stores = workloads.flatMap(({ key, generation, component }) =>
    component === 'database' || component === 'cache'
      ? [{ key, generation, workload: { component, attempt: null } }]
      : [],
  )
  return workloadsStatus(context, stores).workloads.every(({ done }) => done)
}

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
