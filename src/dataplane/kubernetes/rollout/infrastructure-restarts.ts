/** Controls restarts of a deployment's database and cache when this process renders them differently (RestartLimit). */
import { componentOf } from '../objects/labels.ts'
import type { Component } from '../objects/types.ts'
import { keyOf } from '../reconcile/drift.ts'
import type { RestartLimit } from '../reconcile/restart-limit.ts'
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
