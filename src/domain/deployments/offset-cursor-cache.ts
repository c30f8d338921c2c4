/**
 * Where offsets are in a list: the rows at which pages ended that were read before. While nothing in the workspace has changed
 * a page begins at the last of them before its offset, so that a deep one is not walked to from the list's beginning.
 */
import { LRUCache } from 'lru-cache'
import { withoutHeard } from '../cache-version/version.ts'
import type { RequestContext } from '../transaction/context.ts'
import type { DeploymentFilter } from './filter.ts'

/** `offset` rows are before what comes behind this one. */
export interface OffsetCursor {
  offset: number
  createdAt: Date
  id: string
}

interface CachedList {
  /** of the workspace, without what is heard of listeners: they are right at this one */
  version: string
  /** by their offsets */
  cursors: OffsetCursor[]
}

const MAX_LISTS = 500
/** rows: between two marks there are so many at least, which are walked in no time */
const MIN_GAP_ROWS = 200
const MAX_CURSORS_PER_LIST = 1_000
/** characters: a list of ids is not likely to come again */
const MAX_KEY_LENGTH = 500

/** By the installation that they are of. */
const lists = new WeakMap<RequestContext['query'], LRUCache<string, CachedList>>()

function listsOf({ query }: RequestContext): LRUCache<string, CachedList> {
  let all = lists.get(query)
  if (!all) {
    all = new LRUCache({ max: MAX_LISTS })
    lists.set(query, all)
  }
  return all
}

const keyOf = ({ workspace }: RequestContext, filter: DeploymentFilter) => `${workspace.id} ${JSON.stringify(filter)}`

/** The last mark that is not behind `offset`, and the version that it is right at; null: there is none. */
export function cursorBefore(
  ctx: RequestContext,
  filter: DeploymentFilter,
  offset: number,
): { mark: OffsetCursor; version: string } | null {
  const list = listsOf(ctx).get(keyOf(ctx, filter))
  const mark = list?.cursors[indexAfter(list.cursors, offset) - 1]
  return mark ? { mark, version: list!.version } : null
}

/** Keeps where a page has ended. `version`: that it was read at; null: it is not known. */
export function rememberCursor(
  ctx: RequestContext,
  filter: DeploymentFilter,
  mark: OffsetCursor,
  version: string | null,
): void {
  const key = keyOf(ctx, filter)
  // which rows match these changes with time, too
  if (version === null || filter.status !== undefined || filter.serving !== undefined || key.length > MAX_KEY_LENGTH)
    return
  const at = withoutHeard(version)
  let list = listsOf(ctx).get(key)
  if (list?.version !== at) {
    list = { version: at, cursors: [] }
    listsOf(ctx).set(key, list)
  }
  const { cursors: marks } = list
  const place = indexAfter(marks, mark.offset)
  const before = marks[place - 1]?.offset ?? 0
  const behind = marks[place]?.offset ?? Number.POSITIVE_INFINITY
  if (
    mark.offset - before < MIN_GAP_ROWS ||
    behind - mark.offset < MIN_GAP_ROWS ||
    marks.length >= MAX_CURSORS_PER_LIST
  )
    return
  marks.splice(place, 0, mark)
}

/** How many marks are not behind `offset`. */
function indexAfter(marks: readonly OffsetCursor[], offset: number): number {
  let [low, high] = [0, marks.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (marks[middle]!.offset <= offset) low = middle + 1
    else high = middle
  }
  return low
}
