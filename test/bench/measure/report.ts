/** Formats figures as lines for a terminal and as Markdown tables. */
import type { Result, Spread } from './compare.ts'

export interface Table {
  head: string[]
  rows: string[][]
}

/** Three significant digits. */
export function figure(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}
/** The median with minimum and maximum. */
export const said = (spread: Spread | null) =>
  spread ? `${figure(spread.median)} (${figure(spread.min)}–${figure(spread.max)})` : '–'
const medianOf = (spread: Spread | null) => (spread ? figure(spread.median) : '–')

/** A table of one server and its contenders. */
export const comparisonTable = (results: readonly Result[]): Table => {
  const { head, rows } = rated('ours to it', results)
  const memory = results.map(({ memory }) => (memory === null ? '–' : memory.toFixed(0)))
  return { head: [...head, 'memory MB'], rows: rows.map((row, at) => [...row, memory[at]!]) }
}

/** A table of one server's requests, as ratios to the first. */
export const slownessTable = (results: readonly Result[]): Table => rated('times as slow as the first', results)

const rated = (asRatio: string, results: readonly Result[]): Table => ({
  head: ['', 'requests/s', asRatio, 'by CPU', 'p50 ms', 'p99 ms', ...COSTS],
  rows: results.map(({ name, perSecond, ratio, ratioByCpu, p50, p99, ...costs }, at) => [
    name,
    said(perSecond),
    at === 0 ? '' : said(ratio),
    at === 0 ? '' : medianOf(ratioByCpu),
    medianOf(p50),
    medianOf(p99),
    ...costsOf(costs),
  ]),
})

const COSTS = ['CPU ms per 1,000: server', 'Postgres', 'statements']
const costsOf = ({ cpu, postgresCpu, statements }: Pick<Result, 'cpu' | 'postgresCpu' | 'statements'>) => [
  medianOf(cpu),
  medianOf(postgresCpu),
  statements.toFixed(1),
]

export function asText({ head, rows }: Table): string {
  const widths = head.map((cell, at) => Math.max(cell.length, ...rows.map((row) => row[at]!.length)))
  const line = (row: string[]) =>
    row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join('  ')
  return [head, ...rows].map(line).join('\n')
}

export function asMarkdown({ head, rows }: Table): string {
  const line = (row: string[]) => `| ${row.join(' | ')} |`
  return [line(head), line(head.map((_cell, at) => (at === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}
