/**
 * One case of several servers: each is warmed up, then they are measured in rounds, one after the other within each, so
 * that what else the machine does in the meantime is shared by all. Ratios are of one round; what is said is the median.
 */
import type { Asked, Load } from '../load/orders.ts'
import { CONTENDERS, type ContenderName, type Place } from '../place/place.ts'
import { cpuOf, memoryOf } from './usage.ts'

export type Who = 'pilothouse' | ContenderName

export interface How {
  rounds: number
  /** of a server in a round; it is warmed up for as long */
  seconds: number
  /** who is measured */
  only(who: Who): boolean
}
/** that send one request after the other */
const CONNECTIONS = 16
/** requests by which statements are counted */
const COUNTED = 200

export interface Spread {
  median: number
  min: number
  max: number
}

export interface Result {
  who: Who
  perSecond: Spread
  /** ms */
  p50: Spread
  p99: Spread
  /** ms of CPU for 1,000 requests; null where the system does not tell */
  cpu: Spread | null
  postgresCpu: Spread | null
  /** of one request, BEGIN and COMMIT among them */
  statements: number
  /** MB, after the last round */
  memory: number | null
  /** requests/s of ours to those of it */
  ours: Spread | null
  /** CPU of it and Postgres to that of ours and Postgres: the same without the noise of a busy machine */
  oursByCpu: Spread | null
}

export interface Comparison {
  id: string
  /** the requests of each; asked before the rounds, in the order in which they are measured */
  requests: Partial<Record<Who, (place: Place, url: string) => Asked[] | Promise<Asked[]>>>
  status?: number
  /** done before each round */
  between?: (place: Place, round: number) => Promise<void>
}

interface Lap {
  perSecond: number
  p50: number
  p99: number
  cpu: number | null
  postgresCpu: number | null
}

export async function compare(place: Place, comparison: Comparison, how: How): Promise<Result[]> {
  const { rounds, seconds } = how
  const there = Object.keys(comparison.requests) as Who[]
  const names = there.filter((who) => who === 'pilothouse' || (CONTENDERS.includes(who) && how.only(who)))
  const servers = new Map<Who, { url: string; pid: number; laps: Lap[] }>()
  for (const who of names) {
    const { url, pid } = who === 'pilothouse' ? place.server : await place.contender(who)
    servers.set(who, { url, pid, laps: [] })
    const load: Load = {
      url,
      keys: place.seeded.keys,
      requests: await comparison.requests[who]!(place, url),
      status: comparison.status ?? 200,
    }
    place.generator.prepare(who, load)
    await place.generator.run(who, { connections: CONNECTIONS, seconds })
  }
  for (let round = 0; round < rounds; round++) {
    await comparison.between?.(place, round)
    // who comes first differs
    for (let at = 0; at < names.length; at++) {
      const who = names[(at + round) % names.length]!
      const { pid, laps } = servers.get(who)!
      laps.push(await lap(place, who, pid, seconds))
    }
  }
  const ours = servers.get('pilothouse')?.laps
  const results: Result[] = []
  for (const who of names) {
    const { pid, laps } = servers.get(who)!
    const statements = await place.postgres.statements(async () => {
      await place.generator.run(who, { connections: CONNECTIONS, count: COUNTED })
    })
    const of = (figure: (lap: Lap, round: number) => number | null) => spread(laps.map(figure))
    results.push({
      who,
      perSecond: of(({ perSecond }) => perSecond)!,
      p50: of(({ p50 }) => p50)!,
      p99: of(({ p99 }) => p99)!,
      cpu: of(({ cpu }) => cpu),
      postgresCpu: of(({ postgresCpu }) => postgresCpu),
      statements: statements / COUNTED,
      memory: memoryOf(pid),
      ours: ours ? of(({ perSecond }, round) => ours[round]!.perSecond / perSecond) : null,
      oursByCpu: ours ? of((lap, round) => ratio(cpuInAll(lap), cpuInAll(ours[round]!))) : null,
    })
    place.generator.forget(who)
  }
  return results
}

async function lap(place: Place, who: Who, pid: number, seconds: number): Promise<Lap> {
  const before = [cpuOf(pid), cpuOf(place.postgres.pid)]
  const ran = await place.generator.run(who, { connections: CONNECTIONS, seconds })
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
const ratio = (one: number | null, other: number | null) => (one === null || other === null ? null : one / other)

/** Null if one of them is. */
export function spread(values: readonly (number | null)[]): Spread | null {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b)
  if (sorted.length < values.length || sorted.length === 0) return null
  const [low, high] = [sorted[(sorted.length - 1) >> 1]!, sorted[sorted.length >> 1]!]
  return { median: (low + high) / 2, min: sorted[0]!, max: sorted.at(-1)! }
}
