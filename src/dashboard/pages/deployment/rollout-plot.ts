/** Draws the chart with uPlot: per rollout one bar of waiting, build and deploy, and a mark if it didn't go live. */
import uPlot from 'uplot'
import { duration } from '../../components/time.tsx'
import type { Rollout } from './stages.ts'

export type Plot = uPlot

export interface PlotColors {
  waited: string
  build: string
  deploy: string
  failed: string
  interrupted: string
  text: string
  grid: string
}

interface PlotOptions {
  rollouts: readonly Rollout[]
  colors: PlotColors
  width: number
  /** index of the rollout under the pointer; null: none */
  onPoint(index: number | null): void
}

const HEIGHT_PX = 132
const MARK_HALF_PX = 3.5
const MARK_ROOM_PX = 18

export function plotRollouts(target: HTMLElement, { rollouts, colors, width, onPoint }: PlotOptions): Plot {
  const bars = uPlot.paths.bars!({ size: [0.7, 18], gap: 2 })
  const part = (color: string): uPlot.Series => ({ fill: color, width: 0, paths: bars, points: { show: false } })
  const highest = Math.max(...rollouts.map(({ total }) => total), 0.1)
  const font = `11px ${getComputedStyle(document.body).fontFamily}`
  const axis = { stroke: colors.text, font, ticks: { show: false } }
  return new uPlot(
    {
      width,
      height: HEIGHT_PX,
      padding: [MARK_ROOM_PX, 8, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { show: false } },
      scales: {
        x: { time: false, range: [-0.6, Math.max(rollouts.length, 12) - 0.4] },
        y: { range: [0, highest] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 22,
          space: 44,
          incrs: [1, 2, 5, 10],
          values: (_plot, at) => at.map((i) => (rollouts[i] ? `#${rollouts[i].number}` : '')),
        },
        {
          ...axis,
          grid: { stroke: colors.grid, width: 1 },
          size: 60,
          space: 30,
          values: (_plot, at) => at.map((seconds) => duration(seconds * 1000)),
        },
      ],
      // each series covers the one before: the first has the total height
      series: [{}, part(colors.deploy), part(colors.build), part(colors.waited)],
      hooks: {
        draw: [(plot) => drawMarks(plot, rollouts, colors)],
        setCursor: [({ cursor: { idx, left } }) => onPoint(left !== undefined && left >= 0 ? (idx ?? null) : null)],
      },
    },
    [
      rollouts.map((_one, i) => i),
      rollouts.map(({ total }) => total),
      rollouts.map(({ waited, build }) => waited + build),
      rollouts.map(({ waited }) => waited),
    ],
    target,
  )
}

/** Index of the rollout nearest to an x position in the window. */
export const indexAt = (plot: Plot, clientX: number): number =>
  plot.posToIdx(clientX - plot.over.getBoundingClientRect().left)

/** Marks failed rollouts with a cross and interrupted ones with a line, so colour is not the only cue. */
function drawMarks(plot: uPlot, rollouts: readonly Rollout[], colors: PlotColors): void {
  const { ctx } = plot
  const scale = devicePixelRatio
  ctx.save()
  ctx.lineWidth = 2 * scale
  for (const [i, { outcome, total }] of rollouts.entries()) {
    if (outcome === 'live') continue
    const [x, y] = [plot.valToPos(i, 'x', true), plot.valToPos(total, 'y', true) - 9 * scale]
    const half = MARK_HALF_PX * scale
    ctx.strokeStyle = colors[outcome]
    ctx.beginPath()
    if (outcome === 'failed') {
      ctx.moveTo(x - half, y - half)
      ctx.lineTo(x + half, y + half)
      ctx.moveTo(x + half, y - half)
      ctx.lineTo(x - half, y + half)
    } else {
      ctx.moveTo(x - half, y)
      ctx.lineTo(x + half, y)
    }
    ctx.stroke()
  }
  ctx.restore()
}
