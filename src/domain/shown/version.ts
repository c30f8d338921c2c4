/**
 * The version of what reads of a workspace can show (docs/decisions/0029-answers-reused.md). Every transaction that changes
 * something of it raises it, by triggers of the database; so an answer that was read at a version is right for as long as the
 * workspace has it, but for what the clock changes in it (holds.ts).
 *
 * Two parts, `n:heard`: the second one moves where nothing has changed but when a listener was last heard.
 */

import { SharedReads } from '../../platform/async/shared-reads.ts'
import type { Core, Statement } from '../context/context.ts'

/**
 * A part of a statement: the version in its own snapshot, as text; null: there is none, then nothing is kept. `workspaceId`: its
 * id as an expression of SQL.
 */
export const shownVersion = (workspaceId: string) =>
  `(SELECT sum(v.n) || ':' || sum(v.heard) FROM shown_versions v WHERE v.workspace_id = ${workspaceId})`

const READ: Statement = { name: 'shown_version', text: `SELECT ${shownVersion('$1::uuid')} AS version` }

/** By the installation that they ask. */
const reads = new WeakMap<Core['query'], SharedReads>()

/** The version now: all who ask at once share a read, and each is answered by one that began after it had asked. */
export function readShownVersion({ query }: Core, workspaceId: string): Promise<string | null> {
  let shared = reads.get(query)
  if (!shared) {
    shared = new SharedReads()
    reads.set(query, shared)
  }
  return shared.read(workspaceId, async () => {
    const [row] = await query<{ version: string | null }>(READ, [workspaceId])
    return row?.version ?? null
  })
}

/** Of an answer that does not show when a listener was last heard: the part that it depends on. */
export const withoutHeard = (version: string): string => version.slice(0, version.indexOf(':'))

/** Whether what was read at `known`, whole or withoutHeard(), is as it is at `now`. */
export function isSameVersion(known: string, now: string | null): boolean {
  if (now === null) return false
  return known.includes(':') ? known === now : known === withoutHeard(now)
}
