/**
 * Subscribers on two servers while revisions move at full speed and everything between them breaks: what did each of them get,
 * compared with the log as it is at the end?
 */
import { Calls } from './calls.ts'
import { FAULTS, type Fault } from './faults.ts'
import { openPlace, type Place } from './place.ts'
import { type Population, subscribe } from './population.ts'
import { random } from './random.ts'
import type { Kind, Report } from './report.ts'
import { isUpToDate, judge, type Log, NONE, readLog } from './truth.ts'
import { pause, untilTrue } from './waiting.ts'
import { prepareWriters } from './writers.ts'

export interface Plan {
  seed: number
  /** events that are to be written, at least */
  events: number
  /** ms in which they are written at best: if that is too fast for the machine, it takes longer */
  pace: number
  /** ms after which no more is written, however few they are */
  atMost: number
  /** what happens; in an order of the seed's, and again from the beginning while events are written */
  faults: readonly Fault[]
  /** callers of the API, and movers */
  writers: { called: number; moved: number }
  /** subscribers of each kind */
  each: number
}

/** s */
const LEASE = 3
/** ms without any delivery after which nobody gets anything any more */
const STILL = 20_000

export async function run(plan: Plan): Promise<Report> {
  const place = await openPlace({ RUNTIME: 'none', LEASE_SECONDS: String(LEASE) })
  try {
    return await runAt(place, plan)
  } finally {
    await place.close()
  }
}

async function runAt(place: Place, plan: Plan): Promise<Report> {
  const chance = random(plan.seed)
  const calls = new Calls(place)
  const wrong: string[] = []
  const happened: Record<string, number> = {}
  const writers = await prepareWriters(place, calls, random(plan.seed + 1), plan.writers)
  const { key } = await calls.newKey({ role: 'viewer' })
  const before = await readLog(place)
  const begin = before.rows.length
  const population = subscribe(place, key, before.cursor(begin), writers, plan.each)

  let written = 0
  const since = performance.now()
  const elapsed = () => performance.now() - since
  const over = () => written >= plan.events || elapsed() > plan.atMost
  await writers.go(() => written > plan.events * Math.min(1, elapsed() / plan.pace))
  let counting = true
  const counted = (async () => {
    while (counting) {
      const [row] = await place.rows<{ sequence: number }>('SELECT sequence::int FROM event_counters')
      written = row!.sequence - begin
      await pause(200)
    }
  })()

  const strike = async (fault: Fault) => {
    happened[fault] = (happened[fault] ?? 0) + 1
    await FAULTS[fault]({ place, random: chance, lease: LEASE, wrong: (what) => wrong.push(what) })
  }
  let deck: Fault[] = []
  for (let round = 0; round === 0 || deck.length > 0 || !over(); ) {
    if (deck.length === 0) {
      if (round === 1) population.late()
      deck = chance.shuffled(plan.faults)
      round++
    }
    if (elapsed() > plan.atMost) break
    await strike(deck.pop()!)
    // the same number of events between two of them, however fast the machine is
    const next = written + chance.below(plan.events / plan.faults.length / 2)
    await untilTrue(() => written >= next || over())
  }
  await untilTrue(over)
  counting = false
  await Promise.all([counted, writers.stop()])

  const log = await readLog(place)
  await untilDelivered(population, log)
  await population.close()
  const kinds = tell(population, log)
  return { seed: plan.seed, written: log.rows.length - begin, kinds, wrong, faults: happened, refused: calls.refused }
}

/** Until everybody has everything, or nobody gets anything any more. */
async function untilDelivered({ all }: Population, log: Log): Promise<void> {
  const count = () => all.reduce((sum, { got }) => sum + got.length, 0)
  let [delivered, since] = [count(), performance.now()]
  await untilTrue(() => {
    if (count() > delivered) [delivered, since] = [count(), performance.now()]
    return all.every((subscriber) => isUpToDate(log, subscriber)) || performance.now() - since > STILL
  }, 100)
}

function tell({ all }: Population, log: Log): Record<string, Kind> {
  const kinds: Record<string, Kind> = {}
  for (const subscriber of all) {
    const kind = kinds[subscriber.kind] ?? { ...NONE, subscribers: 0, ends: {} }
    kinds[subscriber.kind] = kind
    kind.subscribers++
    for (const [how, times] of Object.entries(subscriber.ends)) kind.ends[how] = (kind.ends[how] ?? 0) + times
    for (const [figure, count] of Object.entries(judge(log, subscriber, true)))
      kind[figure as keyof typeof NONE] += count
  }
  return kinds
}
