/**
 * Compares loads: each is warmed up, then all are measured in rounds, one after the other within a round, so that
 * other load on the machine affects all alike. Ratios are computed per round; the median is reported.
 */
import type { Asked } from '../load/orders.ts'
import { CONTENDERS, type ContenderName, type Place } from '../place/place.ts'
import { cpuOf, memoryOf } from './usage.ts'

type Who = 'pilothouse' | ContenderName

export interface How {
  rounds: number
  /** Duration of one server's turn in a round, and of its warm-up. */
  seconds: number
  /** Filter of entrants by name. */
  only(who: Who): boolean
}
/** Connections; each sends one request after the other. */
const CONNECTIONS = 16
/** Number of requests for counting statements. */
const COUNTED_REQUESTS = 200

export interface Spread {
  median: number
  min: number
  max: number
}

export interface Result {
  name: string
  perSecond: Spread
  /** in ms */
  p50: Spread
  p99: Spread
  /** CPU time in ms per 1,000 requests; null if the system doesn't report it. */
  cpu: Spread | null
  postgresCpu: Spread | null
  /** Statements per request, including BEGIN and COMMIT. */
  statements: number
  /** MB after the last round. */
  memory: number | null
  /** Ratio of the first entrant's requests per second to this one's. */
  ratio: Spread
  /**
   * Ratio of the CPU time of this entrant and Postgres to that of the first and Postgres: the same comparison without
   * the noise of a busy machine.
   */
  ratioByCpu: Spread | null
}

export interface Comparison {
  id: string
  /** Returns the requests of each entrant; called before the rounds, in the order of measuring. */
  requests: Partial<Record<Who, (place: Place, url: string) => Asked[] | Promise<Asked[]>>>
  /** The expected status; default 200. */
  status?: number
  /** Runs before each round. */
  between?: (place: Place, round: number) => Promise<void>
}

/** One load on one server. */
export interface Entrant {
  name: string
  url: string
  pid: number
  requests: Asked[]
  status?: number
}

interface Lap {
  perSecond: number
  p50: number
  p99: number
  cpu: number | null
  postgresCpu: number | null
}

/** Our server and its contenders. */
export async function compare(place: Place, comparison: Comparison, how: How): Promise<Result[]> {
  const { requests, status, between } = comparison
  const entrants: Entrant[] = []
  for (const who of Object.keys(requests) as Who[]) {
    if (who !== 'pilothouse' && !(CONTENDERS.includes(who) && how.only(who))) continue
    const { url, pid } = who === 'pilothouse' ? place.server : await place.contender(who)
    entrants.push({ name: who, url, pid, status, requests: await requests[who]!(place, url) })
  }
  return race(place, entrants, how, between)
}

/** `entrants`: the others are compared with the first. */
export async function race(
  place: Place,
  entrants: readonly Entrant[],
  { rounds, seconds }: How,
  between?: Comparison['between'],
): Promise<Result[]> {
  const { generator, postgres, seeded } = place
  for (const { name, url, requests, status = 200 } of entrants) {
    generator.prepare(name, { url, keys: seeded.keys, requests, status })
    await generator.run(name, { connections: CONNECTIONS, seconds })
  }
  const laps = entrants.map((): Lap[] => [])
  for (let round = 0; round < rounds; round++) {
    await between?.(place, round)
    for (let at = 0; at < entrants.length; at++) {
      // rotates the order of the entrants
      const which = (at + round) % entrants.length
      laps[which]!.push(await lap(place, entrants[which]!, seconds))
    }
  }
  const results: Result[] = []
  for (const [at, { name, pid }] of entrants.entries()) {
    const statements = await postgres.statements(async () => {
      await generator.run(name, { connections: CONNECTIONS, count: COUNTED_REQUESTS })
    })
    const of = (figure: (lap: Lap, first: Lap) => number | null) =>
      spread(laps[at]!.map((one, round) => figure(one, laps[0]![round]!)))
    results.push({
      name,
      perSecond: of(({ perSecond }) => perSecond)!,
      p50: of(({ p50 }) => p50)!,
      p99: of(({ p99 }) => p99)!,
      cpu: of(({ cpu }) => cpu),
      postgresCpu: of(({ postgresCpu }) => postgresCpu),
      statements: statements / COUNTED_REQUESTS,
      memory: memoryOf(pid),
      ratio: of((one, first) => first.perSecond / one.perSecond)!,
      ratioByCpu: of((one, first) => dividedBy(cpuInAll(one), cpuInAll(first))),
    })
    generator.forget(name)
  }
  return results
}

async function lap(place: Place, { name, pid }: Entrant, seconds: number): Promise<Lap> {
  const before = [cpuOf(pid), cpuOf(place.postgres.pid)]
  const ran = await place.generator.run(name, { connections: CONNECTIONS, seconds })
  const used = (at: 0 | 1, of: number) => {
    const now = cpuOf(of)
    return now === null ? null : ((now - before[at]!) * 1000) / ran.requests
  }
  return {
    perSecond: ran.requests / ran.seconds,
    p50: ran.p50,
    p99: ran.p99,
    cpu: used(0, pid),
    postgresCpu: used(1, place.postgres.pid),
  }
}

const cpuInAll = ({ cpu, postgresCpu }: Lap) => (cpu === null || postgresCpu === null ? null : cpu + postgresCpu)
const dividedBy = (one: number | null, other: number | null) => (one === null || !other ? null : one / other)

/** Null if one of them is null. */
export function spread(values: readonly (number | null)[]): Spread | null {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b)
  if (sorted.length < values.length || sorted.length === 0) return null
  const [low, high] = [sorted[(sorted.length - 1) >> 1]!, sorted[sorted.length >> 1]!]
  return { median: (low + high) / 2, min: sorted[0]!, max: sorted.at(-1)! }
}
