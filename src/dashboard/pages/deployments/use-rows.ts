/** The rows to show: the old ones until a new filter is answered, and reloaded after changes. */
import { useMemo, useRef, useSyncExternalStore } from 'react'
import { useClient } from 'urql'
import { useDeploymentChanges } from '../../components/refresh.ts'
import { Pages, type Rows } from './row-pages.ts'
import { filterOf, orderOf, type Search, type Sort } from './search.ts'

/** of reloads of the list and its counts */
export const LIST_PACE = { delayMs: 400, intervalMs: 2_000 }

/** `old`: the rows belong to the previous filters; the new ones are loading. */
export function useRows(search: Search & { sort: Sort }): { rows: Rows; old: boolean; pages: Pages } {
  const client = useClient()
  const { sort, ...filters } = search
  const key = JSON.stringify([filters, sort])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key covers the whole search
  const pages = useMemo(() => new Pages(client, { filter: filterOf(search), orderBy: orderOf(sort) }), [client, key])
  const rows = useSyncExternalStore(pages.watch, pages.current)
  const before = useRef(rows)
  const old = rows.waiting && rows.problem === null && !before.current.waiting
  if (!rows.waiting) before.current = rows
  useDeploymentChanges(
    () => pages.refresh(),
    (change) => pages.concerns(change),
    LIST_PACE,
  )
  return { rows: old ? before.current : rows, old, pages }
}
