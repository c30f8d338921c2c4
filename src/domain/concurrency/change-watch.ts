/** Delivers changes that this server learns of to long polls (transaction/wait.ts). */
import type { RevisionStatus } from '../../generated/prisma/enums.ts'

export interface ChangeScope {
  deploymentId: string
  revisionId?: string
  /** also changes without an event, such as health and progress */
  withoutEvent: boolean
}

export interface ChangeSource {
  watch(workspaceId: string, scope: ChangeScope, watcher: ChangeWatcher): ChangeWatch
  /** Returns the result of a `read` that begins after this call. Concurrent calls with the same `key` share it. */
  shared<T>(key: string, read: () => Promise<T>): Promise<T>
}

interface ChangeWatcher {
  /** `toStatus`: the revision's new status; null: another change */
  onChange(toStatus: RevisionStatus | null): void
  /** Called when the server stops, or immediately if it is stopping. */
  onStop(): void
}

export interface ChangeWatch {
  /** Resolves when every later commit will be delivered. This may need the database. */
  ready: Promise<unknown>
  close(): void
}
