/**
 * Remembers the rows at which pages of offset lists ended. While the workspace is unchanged, a page starts from the nearest
 * remembered row, so deep offsets are not counted from the beginning.
 */
import { LRUCache } from 'lru-cache'
import { withoutLastSeen } from '../change-feed/version.ts'
import type { ReadContext, RequestContext } from '../transaction/context.ts'
import { type DeploymentFilter, dependsOnClock } from './filter.ts'

/** The list has `offset` rows up to and including this one. */
export interface OffsetCursor {
  offset: number
  createdAt: Date
  id: string
}

interface CachedList {
  /** the workspace's version, without the listeners' last calls, at which the cursors are valid */
  version: string
  /** sorted by offset */
  cursors: OffsetCursor[]
}

const MAX_LISTS = 500
/** Rows between two cursors. Walking so few rows is cheap. */
const MIN_GAP_ROWS = 200
const MAX_CURSORS_PER_LIST = 1_000
/** Longer keys have lists of ids, which rarely repeat. */
const MAX_KEY_LENGTH = 500

/** By installation. */
const lists = new WeakMap<RequestContext['query'], LRUCache<string, CachedList>>()

function listsOf({ query }: ReadContext): LRUCache<string, CachedList> {
  let all = lists.get(query)
  if (!all) {
    all = new LRUCache({ max: MAX_LISTS })
    lists.set(query, all)
  }
  return all
}

const keyOf = ({ workspace }: ReadContext, filter: DeploymentFilter) => `${workspace.id} ${JSON.stringify(filter)}`

/** The last cursor at or before `offset`, with the version at which it is valid; null: none. */
export function cursorBefore(
  ctx: ReadContext,
  filter: DeploymentFilter,
  offset: number,
): { cursor: OffsetCursor; version: string } | null {
  const list = listsOf(ctx).get(keyOf(ctx, filter))
  const cursor = list?.cursors[indexAfter(list.cursors, offset) - 1]
  return cursor ? { cursor: cursor, version: list!.version } : null
}

/** Remembers the end of a page. `version`: at which it was read; null: unknown, nothing is stored. */
export function rememberCursor(
  ctx: ReadContext,
  filter: DeploymentFilter,
  cursor: OffsetCursor,
  version: string | null,
): void {
  const key = keyOf(ctx, filter)
  if (version === null || dependsOnClock(filter) || key.length > MAX_KEY_LENGTH) return
  const at = withoutLastSeen(version)
  let list = listsOf(ctx).get(key)
  if (list?.version !== at) {
    list = { version: at, cursors: [] }
    listsOf(ctx).set(key, list)
  }
  const { cursors } = list
  const place = indexAfter(cursors, cursor.offset)
  const before = cursors[place - 1]?.offset ?? 0
  const behind = cursors[place]?.offset ?? Number.POSITIVE_INFINITY
  if (
    cursor.offset - before < MIN_GAP_ROWS ||
    behind - cursor.offset < MIN_GAP_ROWS ||
    cursors.length >= MAX_CURSORS_PER_LIST
  )
    return
  cursors.splice(place, 0, cursor)
}

/** The number of cursors at or before `offset`. */
function indexAfter(cursors: readonly OffsetCursor[], offset: number): number {
  let [low, high] = [0, cursors.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (cursors[middle]!.offset <= offset) low = middle + 1
    else high = middle
  }
  return low
}
