/** The rows to show: the old ones until a new filter is answered, and reloaded after changes. */
import { useEffect, useMemo, useRef, useSyncExternalStore } from 'react'
import { useClient } from 'urql'
import { type DeploymentsChange, watchDeployments } from '../../components/live-deployments.ts'
import { Pages, type Rows } from './row-pages.ts'
import { filterOf, orderOf, type Search, type Sort } from './search.ts'

/** Delay after a change, and minimum time between two reloads. */
const REFRESH_DELAY_MS = 400
const REFRESH_INTERVAL_MS = 2_000

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
  useOnChange(
    () => pages.refresh(),
    (change) => pages.concerns(change),
  )
  return { rows: old ? before.current : rows, old, pages }
}

/** Calls `look` after changes that `concerns` accepts, at intervals, in visible tabs only. */
export function useOnChange(look: () => unknown, concerns: (change: DeploymentsChange) => boolean = () => true): void {
  const latest = useRef({ look, concerns })
  latest.current = { look, concerns }
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let last = 0
    let isDue = false
    const run = async () => {
      timer = undefined
      if (document.visibilityState === 'hidden') return
      isDue = false
      await latest.current.look()
      last = performance.now()
      if (isDue) plan()
    }
    const plan = () => {
      isDue = true
      timer ??= setTimeout(() => void run(), Math.max(REFRESH_DELAY_MS, last + REFRESH_INTERVAL_MS - performance.now()))
    }
    const wake = () => {
      if (isDue && document.visibilityState === 'visible') plan()
    }
    const leave = watchDeployments((change) => {
      if (latest.current.concerns(change)) plan()
    })
    document.addEventListener('visibilitychange', wake)
    return () => {
      leave()
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', wake)
    }
  }, [])
}
