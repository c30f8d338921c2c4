/**
 * What calls that wait hear of changes (domain/transaction/wait.ts): the events that the relay reads anyway, and hints of changes
 * that write no event. A thousand who wait cost no statement; what they read when they are woken they read together.
 */
import type { Change, Changes, ChangeWatch, ChangeWatcher } from '../../domain/concurrency/change-watch.ts'
import { inScope, type StoredEvent } from '../../domain/events/read.ts'
import { Singleflight } from '../../platform/async/singleflight.ts'
import type { Relay } from './relay.ts'

export interface ControlledChanges extends Changes {
  /** A deployment, or a revision of it, looks different without an event. */
  hinted(deploymentId: string): void
  /** Hints may have been missed. */
  missed(): void
}

/** No event: what has changed may be anything but a status. */
const HINT: Change = { toStatus: null }

export function createChanges(relay: Relay): ControlledChanges {
  const reads = new Singleflight()
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
    shared: (key, read) => reads.read(key, read),
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
