/**
 * Wakes waiting calls (domain/transaction/wait.ts): by the events that the relay reads anyway, and by hints of changes
 * without an event. Waiting costs no statement; woken calls share their reads.
 */
import type { Change, ChangeSource, ChangeWatch, ChangeWatcher } from '../../domain/concurrency/change-watch.ts'
import { inScope, type StoredEvent } from '../../domain/events/read.ts'
import { createSingleflight } from '../../platform/async/batcher.ts'
import type { Relay } from './relay.ts'

export interface ControlledChanges extends ChangeSource {
  /** Reports that a deployment, or a revision of it, changed without an event. */
  hinted(deploymentId: string): void
  /** Reports that hints may have been missed. */
  missed(): void
}

/** A change without an event: anything except a status. */
const HINT: Change = { toStatus: null }

export function createChanges(relay: Relay): ControlledChanges {
  const watching = new Map<string, Set<ChangeWatcher>>()
  const all = () => [...watching.values()].flatMap((those) => [...those])
  const hint = (those: Iterable<ChangeWatcher>) => {
    for (const watcher of those) watcher.onChange(HINT)
  }
  // one listener for all of them
  relay.stopping.addEventListener('abort', () => {
    for (const watcher of all()) watcher.onStop()
  })
  return {
    shared: createSingleflight(),
    watch(workspaceId, scope, watcher): ChangeWatch {
      const wants = (event: StoredEvent) => inScope(event, scope)
      const events = relay.events.watch(workspaceId, { wants, on: (event) => watcher.onChange(event) })
      const those = watching.get(scope.deploymentId) ?? new Set()
      watching.set(scope.deploymentId, those.add(watcher))
      if (relay.stopping.aborted) watcher.onStop()
      return {
        ready: events.ready,
        close() {
          events.close()
          those.delete(watcher)
          if (those.size === 0 && watching.get(scope.deploymentId) === those) watching.delete(scope.deploymentId)
        },
      }
    },
    hinted: (deploymentId) => hint([...(watching.get(deploymentId) ?? [])]),
    missed: () => hint(all()),
  }
}
