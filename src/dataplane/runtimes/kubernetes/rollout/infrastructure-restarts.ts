/** Restarts of a deployment's database and cache for what this process renders otherwise than the one before (RestartLimit). */
import { componentOf } from '../objects/labels.ts'
import type { Component } from '../objects/types.ts'
import { keyOf } from '../reconcile/drift.ts'
import type { RestartLimit } from '../reconcile/restart-limit.ts'
import { type RolloutContext, workloadsStatus } from './rollout-status.ts'

/** For the reconciler of one deployment. `context`: asked for when it is needed. `changed`: called after each round. */
export function infrastructureRestarts(limit: RestartLimit, context: () => RolloutContext, changed: () => void) {
  return {
    /** What is down loses nothing by a restart. */
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

/** As they are in the cluster, whatever was applied. */
function storesAreReady(context: RolloutContext): boolean {
  const objects = context.cluster.objects(context.deploymentId)
  const found = objects.filter(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment')
  return areReady(
    context,
    found.map((object) => ({ key: keyOf(object), generation: 0, component: componentOf(object) })),
  )
}

/** They are as they were applied, and ready; or the cluster refuses to change them. */
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
