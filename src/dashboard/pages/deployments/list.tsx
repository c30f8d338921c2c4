/**
 * A virtual list in the page's own scrolling: columns on wide screens, cards on narrow ones.
 * Arrow keys move between rows; Enter opens one.
 */
import { Text, UnstyledButton } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useWindowVirtualizer } from '@tanstack/react-virtual'
import {
  type ComponentType,
  type KeyboardEvent,
  type MouseEvent,
  memo,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import { Changed, hasRollout, ReasonTooltip, Rollout, Serving, Source, Tags, Traffic, Why, whyId } from './cells.tsx'
import classes from './deployments.module.css'
import type { Pages, Row, Rows } from './row-pages.ts'
import type { Sort, View } from './search.ts'
import { TrafficContext, useTraffic } from './use-traffic.ts'

interface Column {
  id: string
  header: string
  /** the server's sort field, as in the query string */
  sorted?: true
  Cell: ComponentType<{ row: Row }>
}

const COLUMNS: readonly Column[] = [
  { id: 'name', header: 'Name', sorted: true, Cell: NameAndTags },
  { id: 'serves', header: 'Serves', Cell: Serving },
  { id: 'traffic', header: 'Requests (1 h)', Cell: Traffic },
  { id: 'coming', header: 'Coming', Cell: Rollout },
  { id: 'why', header: 'Reason', Cell: Why },
  { id: 'source', header: 'Source', Cell: Source },
  { id: 'changed', header: 'Changed', sorted: true, Cell: Changed },
]

/** Row heights are fixed, so nothing is measured and nothing jumps. Only cards grow with their text. */
const ROW_HEIGHT_PX = { wide: 60, dense: 36, card: 84, comingCard: 122, whyCard: 134 }
const heightOf = (isWide: boolean, dense: boolean, row: Row) => {
  if (isWide) return dense ? ROW_HEIGHT_PX.dense : ROW_HEIGHT_PX.wide
  return row.whyNotLive ? ROW_HEIGHT_PX.whyCard : hasRollout(row) ? ROW_HEIGHT_PX.comingCard : ROW_HEIGHT_PX.card
}
const OVERSCAN_ROWS = 8
/** Screens from this width show columns. */
const WIDE_QUERY = '(min-width: 68.75em)'

interface ListProps {
  rows: Rows
  pages: Pages
  old: boolean
  /** number of matching deployments; null while loading */
  total: number | null
  view: View
  onSort(sort: Sort): void
}

export function List({ rows: { rows, more }, pages, old, total, view: { sort, dense }, onSort }: ListProps) {
  const isWide = useMediaQuery(WIDE_QUERY, true, { getInitialValueInEffect: false })
  const body = useRef<HTMLTableSectionElement>(null)
  const margin = useOffset(body)
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: (index) => heightOf(isWide, dense, rows[index]!),
    overscan: OVERSCAN_ROWS,
    scrollMargin: margin,
    // new rows may render a frame later, so scrolling stays smooth
    useFlushSync: false,
    getItemKey: (index) => rows[index]!.id,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: measures again when row heights change
  useEffect(() => virtualizer.measure(), [isWide, dense])
  // keeps the scroll position when a card above grows
  useLayoutEffect(() => {
    if (!isWide) for (const [index, row] of rows.entries()) virtualizer.resizeItem(index, heightOf(isWide, dense, row))
  }, [virtualizer, isWide, dense, rows])
  const items = virtualizer.getVirtualItems()
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0]
  useEffect(() => pages.show(first, last), [pages, first, last])
  const traffic = useTraffic(items.map(({ index }) => rows[index]!.id))
  const keys = useArrowKeys(body, rows.length, (index) => virtualizer.scrollToIndex(index))
  return (
    <TrafficContext value={traffic}>
      <table
        aria-label="Deployments"
        aria-rowcount={total ?? -1}
        aria-busy={old}
        className={classes.table}
        data-wide={isWide}
        data-dense={isWide && dense}
      >
        <thead className={classes.head}>
          <tr className={classes.columns} aria-rowindex={1}>
            {COLUMNS.map((column) => (
              <Head key={column.id} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody
          ref={body}
          className={classes.body}
          style={{ height: virtualizer.getTotalSize() }}
          onKeyDown={keys}
          data-old={old}
        >
          {items.map(({ key, index, start, size }) => (
            <TableRow key={key} row={rows[index]!} index={index} top={start - margin} height={size} />
          ))}
        </tbody>
      </table>
      <ReasonTooltip body={body} />
      {more && rows.length > 0 && (
        <Text size="sm" c="dimmed" ta="center" py="md" role="status">
          More are on their way…
        </Text>
      )}
    </TrafficContext>
  )
}

interface TableRowProps {
  row: Row
  index: number
  /** offset from the top of the list, in px */
  top: number
  height: number
}

const TableRow = memo(function TableRow({ row, index, top, height }: TableRowProps) {
  return (
    <tr
      aria-rowindex={index + 2}
      data-index={index}
      className={classes.row}
      style={{ height, transform: `translateY(${top}px)` }}
    >
      {COLUMNS.map(({ id, Cell }) => (
        <td key={id} className={classes.cell} data-column={id}>
          <Cell row={row} />
        </td>
      ))}
    </tr>
  )
})

function NameAndTags({ row }: { row: Row }) {
  return (
    <>
      <DeploymentLink row={row} />
      <Tags row={row} />
    </>
  )
}

function Head({
  column: { id, header, sorted },
  sort,
  onSort,
}: {
  column: Column
  sort: Sort
  onSort(sort: Sort): void
}) {
  const isSorted = sort.replace('-', '') === id
  if (!sorted)
    return (
      <th scope="col" data-column={id}>
        {header}
      </th>
    )
  const desc = sort.startsWith('-')
  // the first click on a time column sorts newest first
  const next = isSorted ? (desc ? id : `-${id}`) : id === 'changed' ? '-changed' : id
  const Arrow = desc ? IconArrowDown : IconArrowUp
  return (
    <th scope="col" data-column={id} aria-sort={isSorted ? (desc ? 'descending' : 'ascending') : 'none'}>
      <UnstyledButton className={classes.sort} onClick={() => onSort(next as Sort)}>
        {header} {isSorted && <Arrow size={13} aria-hidden />}
      </UnstyledButton>
    </th>
  )
}

/** The offset from the top of the document, in px. */
function useOffset(of: { current: HTMLElement | null }): number {
  const [offset, setOffset] = useState(0)
  useLayoutEffect(() => {
    const measure = () => {
      const top = of.current?.getBoundingClientRect().top
      if (top !== undefined) setOffset(Math.round(top + scrollY))
    }
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    return () => observer.disconnect()
  }, [of])
  return offset
}

/** Arrow keys (or k and j) move the focus between rows, and scroll the row into view first. */
function useArrowKeys(body: { current: HTMLElement | null }, count: number, show: (index: number) => void) {
  return (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key]
    const row = (event.target as HTMLElement).closest<HTMLElement>('[data-index]')
    if (!step || !row || event.ctrlKey || event.metaKey || event.altKey) return
    const index = Math.min(Math.max(Number(row.dataset.index) + step, 0), count - 1)
    event.preventDefault()
    focusRow(body, index, show)
  }
}

function focusRow(
  body: { current: HTMLElement | null },
  index: number,
  show: (index: number) => void,
  tries = 3,
): void {
  const link = body.current?.querySelector<HTMLElement>(`[data-index="${index}"] a`)
  if (link) {
    link.focus({ preventScroll: true })
    link.closest('[data-index]')!.scrollIntoView({ block: 'nearest' })
  } else if (tries > 0) {
    show(index)
    requestAnimationFrame(() => focusRow(body, index, show, tries - 1))
  }
}

function DeploymentLink({ row: { id, name, whyNotLive } }: { row: Row }) {
  const { ws } = useParams({ from: '/w/$ws' })
  const navigate = useNavigate()
  const open = (event: MouseEvent) => {
    // the browser handles new tabs and windows
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    void navigate({ to: '/w/$ws/deployments/$id', params: { ws, id } })
  }
  return (
    <a
      href={`/w/${ws}/deployments/${id}`}
      onClick={open}
      className={classes.name}
      title={name}
      aria-describedby={whyNotLive ? whyId(id) : undefined}
    >
      {name}
    </a>
  )
}
