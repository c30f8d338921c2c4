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
import type { LogBook } from './log-book.ts'
import { LogLine } from './log-line.tsx'

/** px */
const ROW = 20
/** rows drawn above and below those that are seen */
const AROUND = 10
/** px from an end at which it is read on */
const NEAR = 60 * ROW

interface LogRowsProps {
  book: LogBook
  query: string | null
  /** whether long lines are broken */
  wrap: boolean
  /** what to say where there is no line, `ended`: and none will come */
  nothing(ended: boolean): string
  hrefOf(cursor: string): string
  onPick(cursor: string): void
  /** The reader goes on to the newest lines: no line is pointed at any more. */
  onNewest(): void
  /** The reader wants to find something: the browser finds only what is drawn. */
  onSearch(): void
  label: string
}

export function LogRows({ book, query, wrap, nothing, hrefOf, onPick, onNewest, onSearch, label }: LogRowsProps) {
  const { lines, base, state, found, version } = useSyncExternalStore(book.watch, book.snapshot)
  const frame = useRef<HTMLDivElement>(null)
  const [atEnd, setAtEnd] = useState(true)
  // read by what is called by the browser between two renderings
  const stays = useRef(true)
  const live = state === 'following' || state === 'ended'
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW,
    // so a line keeps its height when others come before it
    getItemKey: useCallback((index: number) => lines[index]?.cursor ?? index, [lines]),
    overscan: AROUND,
    // the frame is measured by then
    initialRect: { width: 800, height: 400 },
  })
  const total = rows.getTotalSize()

  // lines that came or went above don't move those that are read
  const top = useRef({ index: 0, below: 0 })
  const before = useRef(base)
  useLayoutEffect(() => {
    const moved = before.current - base
    before.current = base
    if (moved === 0 || stays.current) return
    const { index, below } = top.current
    const start = rows.measurementsCache[index + moved]?.start
    if (start !== undefined) frame.current!.scrollTop = start + below
  }, [base, rows])

  // other heights: it stays at the line that was the first one
  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever it changes
  useLayoutEffect(() => {
    rows.measure()
    if (!stays.current) rows.scrollToIndex(top.current.index, { align: 'start' })
  }, [wrap, rows])

  // biome-ignore lint/correctness/useExhaustiveDependencies: whenever there are other lines, or they have other heights
  useLayoutEffect(() => {
    if (live && stays.current && frame.current) frame.current.scrollTop = frame.current.scrollHeight
  }, [live, version, total])

  useEffect(() => {
    if (found === null) return
    const index = book.snapshot().lines.findIndex(({ cursor }) => cursor === found)
    if (index === -1) return
    stays.current = false
    setAtEnd(false)
    // when the rows that are drawn have their heights
    const drawn = requestAnimationFrame(() => {
      const seen = frame.current!.getBoundingClientRect()
      const row = frame.current!.querySelector(`[data-index="${index}"]`)?.getBoundingClientRect()
      if (!row || row.top < seen.top || row.bottom > seen.bottom) rows.scrollToIndex(index, { align: 'center' })
    })
    return () => cancelAnimationFrame(drawn)
  }, [found, book, rows])

  const scrolled = useRef(0)
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = frame.current!
    const below = scrollHeight - scrollTop - clientHeight
    // what grows below nobody has scrolled away from
    if (below < 2 * ROW) stays.current = true
    else if (scrollTop < scrolled.current) stays.current = false
    scrolled.current = scrollTop
    const first = rows.getVirtualItemForOffset(scrollTop)
    if (first) top.current = { index: first.index, below: scrollTop - first.start }
    setAtEnd(stays.current)
    if (scrollTop < NEAR) void book.earlier()
    if (below < NEAR) void book.later()
  }
  const toNewest = () => {
    stays.current = true
    setAtEnd(true)
    onNewest()
    if (live) frame.current!.scrollTop = frame.current!.scrollHeight
    else void book.openNewest()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'End') toNewest()
    else if (event.key === 'Home' && !book.snapshot().atStart) {
      stays.current = false
      void book.openOldest().then(() => frame.current?.scrollTo({ top: 0 }))
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
            {nothing(state === 'ended')}
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
                  found={line.cursor === found}
                  query={query}
                  onPick={onPick}
                />
              )
            )
          })}
        </div>
      </section>
      {(!atEnd || state === 'still') && lines.length > 0 && (
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
