/**
 * The rows of a log: those that are seen, and some around them. Scrolling near an end reads on there; at the newest end it stays
 * with what comes, until the reader scrolls away. Rows that wrap are measured as they are drawn, and taken for one line until then.
 */
import { Button, Text } from '@mantine/core'
import { IconArrowDown } from '@tabler/icons-react'
import { useVirtualizer } from '@tanstack/react-virtual'
import {
  type KeyboardEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react'
import classes from './log.module.css'
import type { LogBuffer } from './log-buffer.ts'
import { LogLine } from './log-line.tsx'

/** px */
const ROW_PX = 20
/** rows drawn above and below those that are seen */
const OVERSCAN_ROWS = 10
/** px from an end at which it is read on */
const LOAD_MORE_PX = 60 * ROW_PX

interface LogRowsProps {
  buffer: LogBuffer
  query: string | null
  /** whether long lines are broken */
  wrap: boolean
  /** what to say where there is no line, `ended`: and none will come */
  emptyText(ended: boolean): string
  hrefOf(cursor: string): string
  onPick(cursor: string): void
  /** The reader goes on to the newest lines: no line is pointed at any more. */
  onNewest(): void
  /** The reader wants to find something: the browser finds only what is drawn. */
  onSearch(): void
  label: string
}

export function LogRows({ buffer, query, wrap, emptyText, hrefOf, onPick, onNewest, onSearch, label }: LogRowsProps) {
  const { lines, firstIndex, state, highlighted, version } = useSyncExternalStore(buffer.subscribe, buffer.getSnapshot)
  const frame = useRef<HTMLDivElement>(null)
  const [atEnd, setAtEnd] = useState(true)
  // read by what is called by the browser between two renderings
  const sticksToEnd = useRef(true)
  const readsToEnd = state === 'following' || state === 'ended'
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    // so a line keeps its height when others come before it
    getItemKey: useCallback((index: number) => lines[index]?.cursor ?? index, [lines]),
    overscan: OVERSCAN_ROWS,
    // the frame is measured by then
    initialRect: { width: 800, height: 400 },
  })
  const total = rows.getTotalSize()

  // lines that came or went above don't move those that are read
  const firstVisible = useRef({ index: 0, below: 0 })
  const previousFirstIndex = useRef(firstIndex)
  useLayoutEffect(() => {
    const moved = previousFirstIndex.current - firstIndex
    previousFirstIndex.current = firstIndex
    if (moved === 0 || sticksToEnd.current) return
    const { index, below } = firstVisible.current
    const start = rows.measurementsCache[index + moved]?.start
    if (start !== undefined) frame.current!.scrollTop = start + below
  }, [firstIndex, rows])

  // other heights: it stays at the line that was the first one
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever it changes
  useLayoutEffect(() => {
    rows.measure()
    if (!sticksToEnd.current) rows.scrollToIndex(firstVisible.current.index, { align: 'start' })
  }, [wrap, rows])

  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever there are other lines, or they have other heights
  useLayoutEffect(() => {
    if (readsToEnd && sticksToEnd.current && frame.current) frame.current.scrollTop = frame.current.scrollHeight
  }, [readsToEnd, version, total])

  useEffect(() => {
    if (highlighted === null) return
    const index = buffer.getSnapshot().lines.findIndex(({ cursor }) => cursor === highlighted)
    if (index === -1) return
    sticksToEnd.current = false
    setAtEnd(false)
    // when the rows that are drawn have their heights
    const drawn = requestAnimationFrame(() => {
      const seen = frame.current!.getBoundingClientRect()
      const row = frame.current!.querySelector(`[data-index="${index}"]`)?.getBoundingClientRect()
      if (!row || row.top < seen.top || row.bottom > seen.bottom) rows.scrollToIndex(index, { align: 'center' })
    })
    return () => cancelAnimationFrame(drawn)
  }, [highlighted, buffer, rows])

  const lastScrollTop = useRef(0)
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = frame.current!
    const below = scrollHeight - scrollTop - clientHeight
    // what grows below nobody has scrolled away from
    if (below < 2 * ROW_PX) sticksToEnd.current = true
    else if (scrollTop < lastScrollTop.current) sticksToEnd.current = false
    lastScrollTop.current = scrollTop
    const first = rows.getVirtualItemForOffset(scrollTop)
    if (first) firstVisible.current = { index: first.index, below: scrollTop - first.start }
    setAtEnd(sticksToEnd.current)
    if (scrollTop < LOAD_MORE_PX) void buffer.loadOlder()
    if (below < LOAD_MORE_PX) void buffer.loadNewer()
  }
  const toNewest = () => {
    sticksToEnd.current = true
    setAtEnd(true)
    onNewest()
    if (readsToEnd) frame.current!.scrollTop = frame.current!.scrollHeight
    else void buffer.openNewest()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'End') toNewest()
    else if (event.key === 'Home' && !buffer.getSnapshot().atStart) {
      sticksToEnd.current = false
      void buffer.openOldest().then(() => frame.current?.scrollTo({ top: 0 }))
    } else if (event.key === '/' || (event.key === 'f' && (event.ctrlKey || event.metaKey))) onSearch()
    else return
    event.preventDefault()
  }
  return (
    <>
      <section
        ref={frame}
        className={classes.rows}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
        tabIndex={0}
        aria-label={label}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
      >
        {lines.length === 0 && state !== 'reading' && (
          <Text c="dimmed" size="sm" className={classes.nothing}>
            {emptyText(state === 'ended')}
          </Text>
        )}
        <div className={classes.inner} style={{ height: total }} data-wrap={wrap}>
          {rows.getVirtualItems().map(({ index, start }) => {
            const line = lines[index]
            return (
              line && (
                <LogLine
                  key={line.cursor}
                  line={line}
                  index={index}
                  measure={wrap ? rows.measureElement : undefined}
                  top={start}
                  href={hrefOf(line.cursor)}
                  highlighted={line.cursor === highlighted}
                  query={query}
                  onPick={onPick}
                />
              )
            )
          })}
        </div>
      </section>
      {(!atEnd || state === 'paused') && lines.length > 0 && (
        <Button
          className={classes.float}
          size="xs"
          radius="xl"
          leftSection={<IconArrowDown size={14} />}
          onClick={toNewest}
        >
          Newest lines
        </Button>
      )}
    </>
  )
}
