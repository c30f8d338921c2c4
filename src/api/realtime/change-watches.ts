/**
 * Wakes waiting calls (domain/transaction/wait.ts): by the events that the relay reads anyway, and by the change feed.
 * Waiting costs no statement; woken calls share their reads.
 */
import type { ChangeSource, ChangeWatch } from '../../domain/concurrency/change-watch.ts'
import { inScope, type StoredEvent } from '../../domain/events/read.ts'
import { createSingleflight } from '../../platform/async/batcher.ts'
import type { Relay } from './relay.ts'

export function createChanges(relay: Relay): ChangeSource {
  return {
    shared: createSingleflight(),
    watch(workspaceId, scope, { onChange, onStop }): ChangeWatch {
      const { deploymentId, withoutEvent } = scope
      const wants = (event: StoredEvent) => inScope(event, scope)
      const watches = [relay.events.watch(workspaceId, { wants, on: ({ toStatus }) => onChange(toStatus) })]
      if (withoutEvent) {
        const includes = ({ deploymentIds }: { deploymentIds: readonly string[] }) =>
          deploymentIds.includes(deploymentId)
        watches.push(relay.deployments.watch(workspaceId, { wants: includes, on: () => onChange(null) }))
      }
      relay.stopping.addEventListener('abort', onStop)
      if (relay.stopping.aborted) onStop()
      return {
        ready: Promise.all(watches.map(({ ready }) => ready)),
        close() {
          relay.stopping.removeEventListener('abort', onStop)
          for (const { close } of watches) close()
        },
      }
    },
  }
}
