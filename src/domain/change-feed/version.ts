/**
 * The cache version of a workspace, which triggers raise when visible data changes (README.md).
 * Its text is `n:heard`; `heard` grows instead of `n` when only the last call of a listener changed.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import { type Batch, createBatcher, createSingleflight, type Singleflight } from '../../platform/async/batcher.ts'
import type { Core, Statement } from '../transaction/context.ts'

/**
 * SQL expression for the version in the statement's snapshot, as text. Null: there is none, and the answer is not cached.
 * `workspaceId`: SQL expression of the id.
 */
const shownVersion = (workspaceId: string) =>
  `(SELECT sum(v.n) || ':' || sum(v.heard) FROM shown_versions v WHERE v.workspace_id = ${workspaceId})`

const [BEFORE_ID, BEHIND_ID] = shownVersion('?')
  .split('?')
  .map((part) => Prisma.raw(part))
/** The same for the workspace with this id. */
export const cacheVersionSql = (id: string): Prisma.Sql => Prisma.sql`${BEFORE_ID}${id}::uuid${BEHIND_ID}`

/** The number of ids is hidden from the planner (paging/statements.ts). */
const READ: Statement = {
  name: 'shown_versions',
  text: `SELECT ${shownVersion('w.id')} AS version, w.id FROM unnest((SELECT $1::uuid[])) AS w(id)`,
}

/** Readers of the versions of one installation. */
interface Reads {
  /** shares a read between calls for one workspace */
  shared: Singleflight
  /** batches workspaces that were asked for while other statements ran */
  gather: Batch
}
/** A slow statement delays the next one by 5 ms at most. */
const GATHERED = { maxBatch: 500, maxWaitMs: 5 }

/** by installation */
const reads = new WeakMap<Core['query'], Reads>()

/** The current version. Concurrent calls share a read, which always begins after the call. */
export function readCacheVersion({ query }: Pick<Core, 'query'>, workspaceId: string): Promise<string | null> {
  let own = reads.get(query)
  if (!own) {
    own = { shared: createSingleflight(), gather: createBatcher(GATHERED) }
    reads.set(query, own)
  }
  const { shared, gather } = own
  return shared(workspaceId, () =>
    gather('', workspaceId, async (ids: readonly string[]) => {
      const rows = await query<{ id: string; version: string | null }>(READ, [ids])
      const versions = new Map(rows.map(({ id, version }) => [id, version]))
      return ids.map((id) => versions.get(id) ?? null)
    }),
  )
}

/** The part of the version that matters to answers without the last call of a listener. */
export const withoutLastSeen = (version: string): string => version.slice(0, version.indexOf(':'))

/**
 * SQL condition: visible data changed since `known`, ignoring the last calls of listeners. `known`: from withoutLastSeen();
 * null: no version is known.
 */
export const changedSince = (workspaceId: string, known: string | null): Prisma.Sql =>
  Prisma.sql`(SELECT sum(v.n)::text FROM shown_versions v WHERE v.workspace_id = ${workspaceId}::uuid) IS DISTINCT FROM ${known}::text`

/** Whether data that was read at `known` (whole, or from withoutLastSeen()) is unchanged at `now`. */
export function isSameVersion(known: string, now: string | null): boolean {
  if (now === null) return false
  return known.includes(':') ? known === now : known === withoutLastSeen(now)
}

/** The version that rows were read at, for callers of the verb that read them. */
const versionsReadAt = new WeakMap<object, string>()

/** Records `version` for `views`, which one statement read in one snapshot; null: unknown. It is stored with the first one. */
export function readAt<T extends object>(views: T[], version: string | null): T[] {
  if (views[0] && version !== null) versionsReadAt.set(views[0], version)
  return views
}

/** The recorded version; null: unknown, also for rows of several statements. */
export const versionReadAt = (view: object): string | null => versionsReadAt.get(view) ?? null
