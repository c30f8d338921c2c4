/** Draws one chart of a deployment's metrics with uPlot: its lines, and a vertical line for each rollout. */
import uPlot from 'uplot'
import type { ChartKind } from './charts.ts'
import { clock } from './format.ts'
import type { Measured } from './metrics-query.ts'
import type { Steps } from './steps.ts'

export interface Shown extends Pick<Measured, 'from' | 'until' | 'marks'> {
  steps: Steps
}

export interface MetricsPlot {
  show(shown: Shown): void
  /** index of a step; null: none */
  point(index: number | null): void
  resize(width: number): void
  destroy(): void
}

interface PlotOptions {
  kind: ChartKind
  scheme: 'light' | 'dark'
  shown: Shown
  width: number
  /** index of the step under the pointer; null: none */
  onPoint(index: number | null): void
}

const HEIGHT_PX = 150
/** above the lines, for the numbers of rollouts */
const MARK_ROOM_PX = 16
const AXIS_WIDTH_PX = 62
/** Numbers of rollouts that are closer would overlap. */
const LABEL_GAP_PX = 26

export function plotMetrics(target: HTMLElement, { kind, scheme, shown, width, onPoint }: PlotOptions): MetricsPlot {
  let now = shown
  const style = getComputedStyle(document.documentElement)
  const themed = (name: string) => style.getPropertyValue(`--mantine-color-${name}`)
  const [text, grid] = [themed('dimmed'), themed(scheme === 'light' ? 'gray-2' : 'dark-5')]
  const font = `11px ${getComputedStyle(document.body).fontFamily}`
  const axis = { stroke: text, font, ticks: { show: false } }
  const dataOf = ({ steps }: Shown): uPlot.AlignedData => [
    steps.times,
    ...kind.lines.map(({ column }) => steps.values[column]),
  ]
  const plot = new uPlot(
    {
      width,
      height: HEIGHT_PX,
      padding: [MARK_ROOM_PX, 28, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { size: 7 } },
      scales: {
        x: { time: true, range: () => [now.from, now.until] },
        y: { range: (_plot, _low, high) => [0, Math.max(high ?? 0, kind.top) * 1.05] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 22,
          space: 90,
          values: (_plot, times) => times.map((time) => clock(time, now.until - now.from)),
        },
        {
          ...axis,
          grid: { stroke: grid, width: 1 },
          size: AXIS_WIDTH_PX,
          space: 30,
          ...(kind.increments && { incrs: kind.increments }),
          values: (_plot, values) => values.map(kind.format),
        },
      ],
      series: [
        {},
        ...kind.lines.map(
          ({ color, dash, width: line = 1.5, filled, bars }): uPlot.Series => ({
            stroke: color[scheme],
            width: line,
            ...(dash && { dash }),
            ...((filled || bars) && { fill: `${color[scheme]}${bars ? 'c0' : '24'}` }),
            ...(bars && { paths: uPlot.paths.bars!({ size: [0.8, 14, 4] }) }),
            // a line needs two values, so a lonely one is a point
            points: bars ? { show: false } : { show: true, size: 4, fill: color[scheme], filter: lonelyPoints },
          }),
        ),
      ],
      hooks: {
        draw: [(drawn) => drawMarks(drawn, now.marks, { text, font })],
        setCursor: [({ cursor: { idx, left } }) => onPoint(left !== undefined && left >= 0 ? (idx ?? null) : null)],
      },
    },
    dataOf(now),
    target,
  )
  return {
    show(next) {
      now = next
      plot.setData(dataOf(next))
    },
    point(index) {
      const left = index === null ? -10 : plot.valToPos(now.steps.times[index]!, 'x')
      if (plot.cursor.idx !== index || index === null) plot.setCursor({ left, top: left < 0 ? -10 : 10 }, false)
    },
    resize: (next) => plot.setSize({ width: next, height: HEIGHT_PX }),
    destroy: () => plot.destroy(),
  }
}

function lonelyPoints({ data }: uPlot, series: number): number[] {
  const values = [...data[series]!]
  const isThere = (i: number) => values[i] !== null && values[i] !== undefined
  return values.flatMap((_one, i) => (isThere(i) && !isThere(i - 1) && !isThere(i + 1) ? [i] : []))
}

/** A dashed line at the time at which each rollout went live, with its number above. */
function drawMarks(plot: uPlot, marks: Shown['marks'], { text, font }: { text: string; font: string }): void {
  const { ctx, bbox } = plot
  const scale = devicePixelRatio
  ctx.save()
  ctx.strokeStyle = text
  ctx.fillStyle = text
  ctx.lineWidth = scale
  ctx.font = font.replace('11px', `${11 * scale}px`)
  ctx.textAlign = 'center'
  ctx.setLineDash([3 * scale, 3 * scale])
  // from the newest one, whose number matters most
  let free = Number.POSITIVE_INFINITY
  for (const { at, number } of marks.toReversed()) {
    const x = Math.round(plot.valToPos(at, 'x', true))
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    if (x > free) continue
    ctx.fillText(`#${number}`, Math.min(x, bbox.left + bbox.width - 4 * scale), bbox.top - 4 * scale)
    free = x - LABEL_GAP_PX * scale
  }
  ctx.restore()
}
