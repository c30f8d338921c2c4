/** `npm run chaos -- events`: no subscriber loses, doubles or reorders an event during any fault. */
import { FAULTS, type Fault } from './faults.ts'
import { print, totalOf } from './report.ts'
import { run } from './run.ts'

const EVENTS = Number(process.env.CHAOS_EVENTS ?? 20_000)

export async function eventStreams(): Promise<boolean> {
  const report = await run({
    seed: Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000),
    events: EVENTS,
    pace: 40_000,
    atMost: 100_000,
    faults: Object.keys(FAULTS) as Fault[],
    writers: { called: 3, moved: 4, built: 2 },
    lease: 3,
    awhile: 2_500,
    revokedWithin: 5_000,
    waiters: 8,
    each: 4,
  })
  print(report)
  const { lost, doubled, outOfOrder, wrong } = totalOf(report)
  return report.written >= EVENTS && lost + doubled + outOfOrder + wrong + report.wrong.length === 0
}
