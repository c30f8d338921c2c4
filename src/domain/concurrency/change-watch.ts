/** What a server hears of changes, for whoever waits for one (wait.ts). */
import type { RevisionStatus } from '../../generated/prisma/enums.ts'

/** NOTIFY channel of changes that show without an event (health, progress, what a teardown waits for). Payload: the deployment's id. */
export const CHANGE_CHANNEL = 'pilothouse_changes'

/** What is watched: a deployment with all its revisions, or one of them. */
export interface ChangeScope {
  deploymentId: string
  revisionId?: string
}

/** An event of the log; or a hint that something has changed without one. */
export interface Change {
  /** the status that a revision has now; null: it is about something else */
  toStatus: RevisionStatus | null
}

/** What a server hears of changes, for as long as somebody watches. */
export interface Changes {
  watch(workspaceId: string, scope: ChangeScope, watcher: ChangeWatcher): ChangeWatch
  /** What `read` gives, which begins after this call; shared by all who ask for the same `key` before it has begun. */
  shared<T>(key: string, read: () => Promise<T>): Promise<T>
}

export interface ChangeWatcher {
  /** Called with each event in the scope, and each hint, that comes from now on. */
  onChange(change: Change): void
  /** Called when the server stops, or at once if it does. */
  onStop(): void
}

export interface ChangeWatch {
  /** Resolves when nothing that is committed from then on is missed; that may need the database. */
  ready: Promise<void>
  close(): void
}
