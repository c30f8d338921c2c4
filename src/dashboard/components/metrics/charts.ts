/** What each chart shows: its lines, its unit, and a headline in words. */
import { bytes, clock, latency, number, percent } from './format.ts'
import { type Column, highestIndex, lastIndex, type Steps } from './steps.ts'

interface Line {
  column: Column
  label: string
  /** of both colour schemes; told apart without colours by `dash` and `width` */
  color: { light: string; dark: string }
  dash?: [number, number]
  width?: number
  filled?: true
  bars?: true
}

export interface ChartKind {
  title: string
  /** after the title */
  unit: string
  lines: Line[]
  format(value: number): string
  /** lowest top of the value axis */
  top: number
  /** distances of the axis' values; default: decimal */
  increments?: number[]
  /** What the time shown says, in a sentence. */
  headline(steps: Steps, rangeSeconds: number): Headline
  /** instead of a chart without values */
  empty: string
}

export interface Headline {
  text: string
  /** for the summary above the charts; absent: nothing to say */
  brief?: string
  /** something is wrong */
  isBad?: boolean
}

/** Okabe and Ito's palette, darker in light mode for a contrast of 3:1. */
const BLUE = { light: '#0072b2', dark: '#56b4e9' }
const RED = { light: '#c04a00', dark: '#ff8a47' }
const NAVY = { light: '#00426b', dark: '#a8dcff' }
const PURPLE = { light: '#9a4a7c', dark: '#e39bc4' }

const NEAR_LIMIT = 0.9
/** Lower values are normal for an agent. */
const BAD_ERROR_RATE = 0.01

export const CHARTS: readonly ChartKind[] = [
  {
    title: 'Requests',
    unit: 'a minute',
    lines: [
      { column: 'requests', label: 'requests', color: BLUE, filled: true },
      { column: 'errors', label: 'errors (status from 500)', color: RED, dash: [5, 3], width: 2 },
    ],
    format: number,
    top: 1,
    headline({ totals: { requests, errors } }) {
      if (requests === 0) return { text: 'No requests.', brief: 'no requests' }
      const rate = errors / requests
      const brief = `${percent(rate)} errors`
      return { text: `${number(requests)} requests, ${brief}.`, brief, isBad: rate >= BAD_ERROR_RATE }
    },
    empty: 'No requests were counted.',
  },
  {
    title: 'Latency',
    unit: 'of whole answers',
    lines: [
      { column: 'latency_p50', label: 'p50', color: BLUE, width: 1 },
      { column: 'latency_p95', label: 'p95: 95 % took at most', color: NAVY, width: 2 },
      { column: 'latency_p99', label: 'p99', color: PURPLE, dash: [5, 3], width: 1.5 },
    ],
    format: latency,
    top: 0.001,
    headline({ values: { latency_p95: p95 } }) {
      const known = p95.filter((one) => one !== null).sort((a, b) => a - b)
      const highest = highestIndex(p95)
      if (highest < 0) return { text: '' }
      const [typical, most] = [known[Math.floor(known.length / 2)]!, p95[highest]!]
      return {
        text: `p95: now ${latency(p95[lastIndex(p95)]!)}, mostly ${latency(typical)}, highest ${latency(most)}.`,
        brief: `p95 latency mostly ${latency(typical)}`,
      }
    },
    empty: 'No request ended. Event streams have no latency.',
  },
  {
    title: 'CPU',
    unit: 'cores',
    lines: [{ column: 'cpu', label: 'all replicas', color: BLUE, filled: true }],
    format: number,
    top: 0.05,
    headline({ values: { cpu } }) {
      const highest = highestIndex(cpu)
      if (highest < 0) return { text: '' }
      return { text: `Now ${number(cpu[lastIndex(cpu)]!)}, highest ${number(cpu[highest]!)} cores.` }
    },
    empty: 'CPU was not measured.',
  },
  {
    title: 'Memory',
    unit: 'against its limit',
    lines: [
      { column: 'memory', label: 'used', color: BLUE, filled: true },
      { column: 'memory_limit', label: 'limit', color: RED, dash: [8, 4], width: 2 },
    ],
    format: bytes,
    top: 1e6,
    headline({ values: { memory, memory_limit: limits } }) {
      const highest = highestIndex(memory)
      if (highest < 0) return { text: '' }
      const now = memory[lastIndex(memory)]!
      const limit = limits[lastIndex(limits)] ?? null
      if (limit === null) return { text: `Now ${bytes(now)}, highest ${bytes(memory[highest]!)}. No limit.` }
      // of the limit at each time: it may have changed
      const most = Math.max(...memory.map((used, i) => (used ?? 0) / (limits[i] ?? limit)))
      const isBad = most >= NEAR_LIMIT
      return {
        text: `Now ${percent(now / limit)} of ${bytes(limit)}, highest ${percent(most)}: ${isBad ? 'short of memory' : 'enough memory'}.`,
        brief: `memory at most ${percent(most)} of its limit`,
        isBad,
      }
    },
    empty: 'Memory was not measured.',
  },
  {
    title: 'Restarts',
    unit: 'after a crash or a limit',
    lines: [{ column: 'restarts', label: 'restarts', color: RED, bars: true }],
    format: number,
    top: 1,
    increments: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
    headline({ times, totals, values: { restarts } }, rangeSeconds) {
      const last = restarts.findLastIndex((one) => one !== null && one > 0)
      if (last < 0) return { text: 'None.', brief: lastIndex(restarts) < 0 ? undefined : 'no restarts' }
      const many = number(totals.restarts)
      return {
        text: `${many}, the last at ${clock(times[last]!, rangeSeconds)}.`,
        brief: totals.restarts === 1 ? '1 restart' : `${many} restarts`,
        isBad: true,
      }
    },
    empty: 'Restarts were not counted.',
  },
]
