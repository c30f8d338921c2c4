/**
 * The visible rows of a log and a few around them. Scrolling near an end reads more lines. At the newest end the view
 * follows new lines until the reader scrolls up. Wrapped rows count as one line high until they are drawn and measured.
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

const ROW_PX = 20
const OVERSCAN_ROWS = 10
/** distance from an end at which more lines are read */
const LOAD_MORE_PX = 60 * ROW_PX

interface LogRowsProps {
  buffer: LogBuffer
  query: string | null
  /** whether long lines wrap */
  wrap: boolean
  /** Text for a log without lines. `ended`: none will come. */
  emptyText(ended: boolean): string
  hrefOf(cursor: string): string
  onPick(cursor: string): void
  /** The reader jumps to the newest lines, so no line is highlighted any more. */
  onNewest(): void
  /** Replaces the browser's search, which finds only the drawn rows. */
  onSearch(): void
  label: string
}

export function LogRows({ buffer, query, wrap, emptyText, hrefOf, onPick, onNewest, onSearch, label }: LogRowsProps) {
  const { lines, firstIndex, state, highlighted, version } = useSyncExternalStore(buffer.subscribe, buffer.getSnapshot)
  const frame = useRef<HTMLDivElement>(null)
  const [atEnd, setAtEnd] = useState(true)
  // a ref, because event handlers read it between two renders
  const sticksToEnd = useRef(true)
  const readsToEnd = state === 'following' || state === 'ended'
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    // keyed by cursor, so a line keeps its measured height when older lines are added
    getItemKey: useCallback((index: number) => lines[index]?.cursor ?? index, [lines]),
    overscan: OVERSCAN_ROWS,
    // used until the frame is measured
    initialRect: { width: 800, height: 400 },
  })
  const total = rows.getTotalSize()

  // keeps the visible lines in place when lines are added or dropped above
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

  // row heights change with wrapping: keeps the first visible line in place
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when `wrap` changes
  useLayoutEffect(() => {
    rows.measure()
    if (!sticksToEnd.current) rows.scrollToIndex(firstVisible.current.index, { align: 'start' })
  }, [wrap, rows])

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when lines or their heights change
  useLayoutEffect(() => {
    if (readsToEnd && sticksToEnd.current && frame.current) frame.current.scrollTop = frame.current.scrollHeight
  }, [readsToEnd, version, total])

  useEffect(() => {
    if (highlighted === null) return
    const index = buffer.getSnapshot().lines.findIndex(({ cursor }) => cursor === highlighted)
    if (index === -1) return
    sticksToEnd.current = false
    setAtEnd(false)
    // waits until the drawn rows are measured
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
    // only scrolling up detaches from the end; growth below the view doesn't
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
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
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
