/** One chart with its headline, and a legend with the values under the cursor. The arrow keys move the cursor. */
import { Text, Title, useComputedColorScheme } from '@mantine/core'
import { type KeyboardEvent, useEffect, useId, useRef } from 'react'
import 'uplot/dist/uPlot.min.css'
import type { ChartKind } from './charts.ts'
import { stepTime } from './format.ts'
import classes from './metrics.module.css'
import { type MetricsPlot, plotMetrics, type Shown } from './metrics-plot.ts'
import { lastIndex } from './steps.ts'

interface ChartProps {
  kind: ChartKind
  shown: Shown
  /** index of the step under the cursor of all charts; null: none */
  pointed: number | null
  onPoint(index: number | null): void
  /** below the headline */
  note?: string | null
}

/** Steps that Page Up and Page Down move the cursor by. */
const PAGE_STEPS = 10

export function Chart({ kind, shown, pointed, onPoint, note }: ChartProps) {
  const titleId = useId()
  const { steps, from, until } = shown
  const hasValues = kind.lines.some(({ column }) => lastIndex(steps.values[column]) >= 0)
  const { text, isBad } = kind.headline(steps, until - from)
  return (
    <section aria-labelledby={titleId} className={classes.chart}>
      <div className={classes.heading}>
        <Title order={3} size="h6" id={titleId}>
          {kind.title}{' '}
          <Text span size="xs" c="dimmed" fw={400}>
            {kind.unit}
          </Text>
        </Title>
        <Text size="xs" {...(isBad ? { fw: 600, c: 'red' } : {})}>
          {isBad && '⚠ '}
          {hasValues ? text : ''}
        </Text>
      </div>
      {note && <Text size="xs">{note}</Text>}
      {hasValues ? (
        <Canvas {...{ kind, shown, pointed, onPoint, titleId }} />
      ) : (
        <Text size="sm" c="dimmed" className={classes.empty}>
          {note ? 'This runtime has no series of restarts.' : kind.empty}
        </Text>
      )}
    </section>
  )
}

function Canvas({ kind, shown, pointed, onPoint, titleId }: ChartProps & { titleId: string }) {
  const scheme = useComputedColorScheme()
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<MetricsPlot>(null)
  const first = useRef(shown)
  first.current = shown
  useEffect(() => {
    const target = place.current!
    const made = plotMetrics(target, { kind, scheme, shown: first.current, width: target.clientWidth, onPoint })
    plot.current = made
    const observer = new ResizeObserver(() => made.resize(target.clientWidth))
    observer.observe(target)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [kind, scheme, onPoint])
  useEffect(() => plot.current!.show(shown), [shown])
  useEffect(() => plot.current!.point(pointed), [pointed])
  const { times, values, step } = shown.steps
  const newest = Math.max(...kind.lines.map(({ column }) => lastIndex(values[column])))
  const index = pointed ?? newest
  const time = stepTime(times[index]!, step, shown.until - shown.from)
  const said = kind.lines.map(({ column, label }) => `${label} ${valueText(kind, values[column][index])}`).join(', ')
  const onKeyDown = (event: KeyboardEvent) => {
    const next = keyTarget(event.key, index, times.length - 1)
    if (next === undefined) return
    event.preventDefault()
    onPoint(next)
  }
  return (
    <>
      <div
        ref={place}
        className={classes.plot}
        role="slider"
        tabIndex={0}
        aria-labelledby={titleId}
        aria-valuemin={0}
        aria-valuemax={times.length - 1}
        aria-valuenow={index}
        aria-valuetext={`${time}: ${said}`}
        onKeyDown={onKeyDown}
        onBlur={() => onPoint(null)}
      />
      <div className={classes.key}>
        {pointed !== null && <span>{time}</span>}
        {kind.lines.map(({ column, label, color, dash, bars }) => (
          <span key={column}>
            <svg width="18" height="8" aria-hidden>
              <line
                x1="0"
                x2="18"
                y1="4"
                y2="4"
                stroke={color[scheme]}
                strokeWidth={bars ? 8 : 2.5}
                strokeDasharray={dash?.join(' ')}
              />
            </svg>
            {label} {(pointed !== null || !bars) && <b>{valueText(kind, values[column][index])}</b>}
          </span>
        ))}
      </div>
    </>
  )
}

const valueText = ({ format }: ChartKind, value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : format(value)

/** The step that a key selects. Undefined: the key does nothing here; null: it removes the cursor. */
function keyTarget(key: string, index: number, last: number): number | null | undefined {
  const moves: Record<string, number> = {
    ArrowLeft: index - 1,
    ArrowDown: index - 1,
    ArrowRight: index + 1,
    ArrowUp: index + 1,
    PageDown: index - PAGE_STEPS,
    PageUp: index + PAGE_STEPS,
    Home: 0,
    End: last,
  }
  if (key === 'Escape') return null
  const to = moves[key]
  return to === undefined ? undefined : Math.min(Math.max(to, 0), last)
}
