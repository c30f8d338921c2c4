/** One line of a log: its time, which links to the line, and its coloured text. */
import { memo } from 'react'
import classes from './log.module.css'
import type { Line } from './log-buffer.ts'
import { LogText } from './log-text.tsx'

const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hourCycle: 'h23',
})
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

interface LogLineProps {
  line: Line
  /** index in the buffer */
  index: number
  /** measures the row; absent if all rows have the same height */
  measure: ((row: HTMLElement | null) => void) | undefined
  /** px from the top */
  top: number
  /** link to the line */
  href: string
  highlighted: boolean
  /** text to mark; null: none */
  query: string | null
  onPick(cursor: string): void
}

export const LogLine = memo(function LogLine({
  line,
  index,
  measure,
  top,
  href,
  highlighted,
  query,
  onPick,
}: LogLineProps) {
  const { time, level, cursor } = line
  const at = new Date(time)
  return (
    <div
      ref={measure}
      className={classes.line}
      style={{ transform: `translateY(${top}px)` }}
      data-index={index}
      data-level={level}
      data-found={highlighted}
    >
      <a
        className={classes.time}
        href={href}
        title={`${DAY.format(at)} ${time}: link to this line`}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return
          event.preventDefault()
          onPick(cursor)
        }}
      >
        {CLOCK.format(at)}
      </a>
      <span className={classes.text}>
        <LogText line={line} query={query} />
      </span>
    </div>
  )
})
