/** Delivers changes that this server learns of to long polls (transaction/wait.ts). */
import type { RevisionStatus } from '../../generated/prisma/enums.ts'

/** NOTIFY channel of visible changes without an event, such as health and progress. Payload: the deployment's id. */
export const CHANGE_CHANNEL = 'pilothouse_changes'

export interface ChangeScope {
  deploymentId: string
  revisionId?: string
}

/** An event of the log, or a hint about a change without an event. */
export interface Change {
  /** the revision's new status; null: another change */
  toStatus: RevisionStatus | null
}

export interface ChangeSource {
  watch(workspaceId: string, scope: ChangeScope, watcher: ChangeWatcher): ChangeWatch
  /** Returns the result of a `read` that begins after this call. Concurrent calls with the same `key` share it. */
  shared<T>(key: string, read: () => Promise<T>): Promise<T>
}

export interface ChangeWatcher {
  onChange(change: Change): void
  /** Called when the server stops, or immediately if it is stopping. */
  onStop(): void
}

export interface ChangeWatch {
  /** Resolves when every later commit will be delivered. This may need the database. */
  ready: Promise<void>
  close(): void
}
