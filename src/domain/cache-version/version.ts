/**
 * The version of what reads of a workspace can show (docs/decisions/0029-response-cache.md). Every transaction that changes
 * something of it raises it, by triggers of the database; so an answer that was read at a version is right for as long as the
 * workspace has it, but for what the clock changes in it (holds.ts).
 *
 * Two parts, `n:heard`: the second one moves where nothing has changed but when a listener was last heard.
 */

import { Prisma } from '../../generated/prisma/client.ts'
import { type Batch, createBatcher } from '../../platform/async/batcher.ts'
import { Singleflight } from '../../platform/async/singleflight.ts'
import type { Core, Statement } from '../transaction/context.ts'

/**
 * A part of a statement: the version in its own snapshot, as text; null: there is none, then nothing is kept. `workspaceId`: its
 * id as an expression of SQL.
 */
const shownVersion = (workspaceId: string) =>
  `(SELECT sum(v.n) || ':' || sum(v.heard) FROM shown_versions v WHERE v.workspace_id = ${workspaceId})`

const [BEFORE_ID, BEHIND_ID] = shownVersion('?')
  .split('?')
  .map((part) => Prisma.raw(part))
/** The same, of the workspace with this id. */
export const shownVersionSql = (id: string): Prisma.Sql => Prisma.sql`${BEFORE_ID}${id}::uuid${BEHIND_ID}`

/** How many they are is not to be seen (sql/hide-from-planner.ts): it would be planned for their number each time. */
const READ: Statement = {
  name: 'shown_versions',
  text: `SELECT ${shownVersion('w.id')} AS version, w.id FROM unnest((SELECT $1::uuid[])) AS w(id)`,
}

/** How an installation's versions are read. */
interface Reads {
  /** of those who ask for one workspace */
  shared: Singleflight
  /** of workspaces: each statement reads those that were asked for while others were under way */
  gather: Batch
}
/** Workspaces of one statement, and how many of those there are at once: one that takes long is not waited for by all. */
const GATHERED = { maxBatch: 500, concurrentBatches: 2 }

/** By the installation that they ask. */
const reads = new WeakMap<Core['query'], Reads>()

/** The version now: all who ask at once share a read, and each is answered by one that began after it had asked. */
export function readShownVersion({ query }: Pick<Core, 'query'>, workspaceId: string): Promise<string | null> {
  let own = reads.get(query)
  if (!own) {
    own = { shared: new Singleflight(), gather: createBatcher(GATHERED) }
    reads.set(query, own)
  }
  const { shared, gather } = own
  return shared.read(workspaceId, () =>
    gather('', workspaceId, async (ids: readonly string[]) => {
      const rows = await query<{ id: string; version: string | null }>(READ, [ids])
      const versions = new Map(rows.map(({ id, version }) => [id, version]))
      return ids.map((id) => versions.get(id) ?? null)
    }),
  )
}

/** Of an answer that does not show when a listener was last heard: the part that it depends on. */
export const withoutHeard = (version: string): string => version.slice(0, version.indexOf(':'))

/**
 * A condition: something that shows has changed since `known`, but for when a listener was last heard. `known`: as
 * withoutHeard() gives it; null: nothing is known.
 */
export const changedSince = (workspaceId: string, known: string | null): Prisma.Sql =>
  Prisma.sql`(SELECT sum(v.n)::text FROM shown_versions v WHERE v.workspace_id = ${workspaceId}::uuid) IS DISTINCT FROM ${known}::text`

/** Whether what was read at `known`, whole or withoutHeard(), is as it is at `now`. */
export function isSameVersion(known: string, now: string | null): boolean {
  if (now === null) return false
  return known.includes(':') ? known === now : known === withoutHeard(now)
}
