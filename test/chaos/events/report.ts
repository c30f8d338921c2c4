/** Prints the results of a run. */
import { NONE, type Verdict } from './truth.ts'

export interface Kind extends Verdict {
  subscribers: number
  /** Number of early ends of their streams, by kind of end. */
  ends: Record<string, number>
}

export interface Report {
  seed: number
  written: number
  kinds: Record<string, Kind>
  /** `again`: number of repeated requests after a server went away. */
  waits: { answered: number; again: number }
  /** Other violated expectations. */
  wrong: readonly string[]
  /** Number of times that each fault happened. */
  faults: Record<string, number>
  /** Number of unsuccessful answers to writers. */
  refused: Record<string, number>
}

export function totalOf({ kinds }: Report): Verdict {
  const total = { ...NONE }
  for (const kind of Object.values(kinds))
    for (const name of Object.keys(total) as (keyof Verdict)[]) total[name] += kind[name]
  return total
}

export function print(report: Report): void {
  const say = (text: string) => console.log(`  ${text}`)
  say(`events written: ${report.written} (CHAOS_SEED=${report.seed})`)
  say(`what happened: ${list(report.faults)}`)
  say(`answers to writers that were no success: ${list(report.refused)}`)
  for (const [name, kind] of Object.entries(report.kinds)) {
    say(`${name}: ${kind.subscribers} subscribers, ${figures(kind)}`)
    if (Object.keys(kind.ends).length > 0) say(`  streams ended: ${list(kind.ends)}`)
  }
  say(`?wait=60: ${report.waits.answered} answered, asked again ${report.waits.again} times`)
  say(`in all: ${figures(totalOf(report))}`)
  for (const what of report.wrong) say(`WRONG: ${what}`)
}

const figures = ({ delivered, lost, doubled, outOfOrder, wrong }: Verdict) =>
  `delivered ${delivered}, lost ${lost}, doubled ${doubled}, out of order ${outOfOrder}${wrong > 0 ? `, WRONG ${wrong}` : ''}`

const list = (counts: Record<string, number>) =>
  Object.entries(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ') || 'none'
