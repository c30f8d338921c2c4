/**
 * Runs subscribers on two servers while revisions move at full speed and faults happen, then compares what each
 * subscriber got with the final log.
 */
import { startBuilds } from './builds.ts'
import { Calls } from './calls.ts'
import { FAULTS, type Fault } from './faults.ts'
import { openPlace, type Place } from './place.ts'
import { type Population, subscribe } from './population.ts'
import { random } from './random.ts'
import type { Kind, Report } from './report.ts'
import { revoke } from './revoked.ts'
import { isUpToDate, judge, type Log, NONE, readLog } from './truth.ts'
import { startWaiters } from './waiters.ts'
import { pause, untilTrue } from './waiting.ts'
import { prepareWriters } from './writers.ts'

export interface Plan {
  seed: number
  /** Minimum number of events to write. */
  events: number
  /** Minimum time in ms for writing them, so that every fault overlaps with events. */
  pace: number
  /** Time in ms from the start after which writing stops, even below the minimum. */
  atMost: number
  /** Faults, in an order chosen by the seed; repeated while events are written. */
  faults: readonly Fault[]
  /** Number of deployments moved by callers of the API, by movers and by the servers' own workers. */
  writers: { called: number; moved: number; built: number }
  /** Lease in s of the servers' own workers; a server is paused for longer. */
  lease: number
  /** Duration in ms of a silence or an outage. */
  awhile: number
  /** Time limit in ms from a revocation to the end of the last stream of its key. */
  revokedWithin: number
  /** Number of clients that wait for the end of a revision. */
  waiters: number
  /** Subscribers of each kind. */
  each: number
}

/** Time in ms without deliveries after which none will come, and the limit after the last event. */
const QUIET_MS = 15_000
const LATEST_DELIVERY_MS = 40_000
/** Time in ms for outstanding answers after enough was written. */
const WAITERS_TIMEOUT_MS = 20_000

export async function run(plan: Plan): Promise<Report> {
  const began = performance.now()
  const place = await openPlace({ RUNTIME: 'process', LEASE_SECONDS: String(plan.lease) })
  try {
    return await runAt(place, plan, () => performance.now() - began > plan.atMost)
  } finally {
    await place.close()
  }
}

async function runAt(place: Place, plan: Plan, late: () => boolean): Promise<Report> {
  const chance = random(plan.seed)
  const calls = new Calls(place)
  const wrong: string[] = []
  const happened: Record<string, number> = {}
  const writers = await prepareWriters(place, calls, random(plan.seed + 1), plan.writers)
  const builds = await startBuilds(place, calls, plan.writers.built)
  const [good, revoked] = [await calls.newKey({ role: 'viewer' }), await calls.newKey({ role: 'viewer' })]
  const before = await readLog(place)
  const begin = before.rows.length
  let written = 0
  let counting = true
  const population = subscribe({
    place,
    keys: { good: good.key, revoked: revoked.key },
    after: before.cursor(begin),
    deployments: [writers.called[0]!, writers.moved[0]!, ...builds.ids.slice(0, 1)],
    each: plan.each,
    // a slow reader must not pause when no more events come
    written: () => (counting ? written : Number.POSITIVE_INFINITY),
    still: plan.events / 5,
  })

  const since = performance.now()
  const elapsed = () => performance.now() - since
  const over = () => written >= plan.events || late()
  await writers.go(() => written > plan.events * (elapsed() / plan.pace))
  const counted = (async () => {
    while (counting) {
      const [row] = await place.rows<{ sequence: number }>('SELECT sequence::int FROM event_counters')
      written = row!.sequence - begin
      await pause(200)
    }
  })()

  const waiters = startWaiters(place, good.key, writers.revisions, plan.waiters)
  const strike = async (fault: Fault) => {
    happened[fault] = (happened[fault] ?? 0) + 1
    await FAULTS[fault]({
      place,
      random: chance,
      subscribers: population.all,
      lease: plan.lease,
      awhile: plan.awhile,
      wrong: (what) => wrong.push(what),
    })
  }
  let deck: Fault[] = []
  for (let round = 0; round === 0 || deck.length > 0 || !over(); ) {
    if (deck.length === 0) {
      if (round === 1) population.late()
      deck = chance.shuffled(plan.faults)
      round++
    }
    if (late()) break
    await strike(deck.pop()!)
    // the same number of events between two faults, on machines of any speed
    const next = written + chance.below(plan.events / plan.faults.length / 2)
    await untilTrue(() => written >= next || over())
  }
  const took = await revoke(calls, revoked.id, population.revoked)
  if (took > plan.revokedWithin) wrong.push(`a key that was revoked had streams for ${Math.round(took)} ms`)
  await untilTrue(over)
  await waiters.finish(AbortSignal.timeout(WAITERS_TIMEOUT_MS))
  counting = false
  await Promise.all([counted, writers.stop(), builds.stop()])

  const log = await readLog(place)
  await untilDelivered(population, log)
  await population.close()
  const kinds = tell(population, log)
  const waits = waiters.judge(log)
  if (waits.wrong > 0) wrong.push(`${waits.wrong} who waited were answered another status than the revision ended with`)
  if (waits.forgotten > 0) wrong.push(`${waits.forgotten} who waited were not answered when the revision had ended`)
  return {
    waits,
    seed: plan.seed,
    written: log.rows.length - begin,
    kinds,
    wrong,
    faults: happened,
    refused: calls.refused,
  }
}

/** Waits until all subscribers are complete, or none receives anything any more. */
async function untilDelivered({ all, revoked }: Population, log: Log): Promise<void> {
  const count = () => all.reduce((sum, { got }) => sum + got.length, 0)
  const began = performance.now()
  let [delivered, since] = [count(), began]
  await untilTrue(() => {
    if (count() > delivered) [delivered, since] = [count(), performance.now()]
    const now = performance.now()
    if (now - since > QUIET_MS || now - began > LATEST_DELIVERY_MS) return true
    return all.every((one) => revoked.includes(one) || isUpToDate(log, one))
  }, 100)
}

function tell(population: Population, log: Log): Record<string, Kind> {
  const kinds: Record<string, Kind> = {}
  for (const subscriber of population.all) {
    const kind = kinds[subscriber.kind] ?? { ...NONE, subscribers: 0, ends: {} }
    kinds[subscriber.kind] = kind
    kind.subscribers++
    for (const [how, times] of Object.entries(subscriber.ends)) kind.ends[how] = (kind.ends[how] ?? 0) + times
    for (const [figure, count] of Object.entries(judge(log, subscriber, !population.revoked.includes(subscriber))))
      kind[figure as keyof typeof NONE] += count
  }
  return kinds
}
