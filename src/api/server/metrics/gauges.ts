/**
 * Metrics of how things stand, asked for when somebody looks: the queue and the leases of the whole installation, and
 * this server's streams, waits, connections and disk.
 */
import { statfs } from 'node:fs/promises'
import { Gauge, type Registry } from 'prom-client'
import { type QueueState, readQueueState } from '../../../domain/claims/queue.ts'
import type { ConcurrencyLimits } from '../../../domain/concurrency/concurrency-limit.ts'
import { OVERLOAD_CAUSES, type Overload, type OverloadCause } from '../../../platform/async/overload.ts'
import type { Database } from '../../../platform/postgres/client.ts'

export interface GaugeSources {
  database: Database
  overload: Overload
  slots: ConcurrencyLimits
  dataDir: string
}

/** ms for which what the database said is good: however many look, it is asked no more often. */
const CACHE_TIME_MS = 5_000

export function registerGauges(register: Registry, { database, overload, slots, dataDir }: GaugeSources): void {
  const gauge = <L extends string>(name: string, help: string, labelNames: L[], collect: (it: Gauge<L>) => unknown) =>
    new Gauge<L>({
      name: `pilothouse_${name}`,
      help,
      labelNames,
      registers: [register],
      async collect() {
        await collect(this)
      },
    })

  // null: not within the limits of the pool
  const queue = cached(() => readQueueState(database.health).catch(() => null))
  const queueGauge = (name: string, help: string, value: (found: QueueState) => number) =>
    gauge(name, help, [], async (it) => {
      const found = await queue()
      if (found) it.set(value(found))
      else it.remove()
    })
  // asked by itself: how long the counts take is not whether it answers
  const up = cached(() => database.answers())
  gauge('database_up', '1: the database answers', [], async (it) => it.set((await up()) ? 1 : 0))
  gauge('overloaded', '1: this server is overloaded for this cause, and begins less', ['cause'], (it) => {
    for (const cause of Object.keys(OVERLOAD_CAUSES) as OverloadCause[])
      it.set({ cause }, overload.now?.causes.includes(cause) ? 1 : 0)
  })
  queueGauge('queue_steps', 'Steps of the installation that nobody has taken yet', ({ steps }) => steps)
  queueGauge('queue_oldest_seconds', 'Age of the oldest of them; 0: there is none', ({ oldest }) => oldest)
  queueGauge('leases_held', 'Deployments of the installation that somebody holds', ({ leases }) => leases)

  const open = 'Revisions of the installation in progress, by what they wait for (`none`: nothing is in their way)'
  gauge('revisions_open', open, ['status', 'reason'], async (it) => {
    it.reset()
    for (const { status, reason, count } of (await queue())?.open ?? []) it.set({ status, reason }, count)
  })

  gauge('streams', 'Streams of this server that are open', [], (it) => it.set(slots.streams.inUse))
  gauge('waits', 'Calls at this server that wait for something', ['of'], (it) => {
    it.set({ of: 'people' }, slots.waits.inUse)
    it.set({ of: 'listeners' }, slots.listenerWaits.inUse)
  })
  gauge('database_connections', 'Connections of this server to the database', ['pool', 'state'], (it) => {
    for (const [pool, { totalCount, idleCount }] of Object.entries(database.pools)) {
      it.set({ pool, state: 'used' }, totalCount - idleCount)
      it.set({ pool, state: 'idle' }, idleCount)
    }
  })
  gauge('database_waiting', 'Calls of this server that wait for a connection', ['pool'], (it) => {
    for (const [pool, { waitingCount }] of Object.entries(database.pools)) it.set({ pool }, waitingCount)
  })
  const disk = cached(() => statfs(dataDir).catch(() => null))
  gauge('data_dir_size_bytes', 'Size of the disk that DATA_DIR is on', [], async (it) => {
    const found = await disk()
    if (found) it.set(found.blocks * found.bsize)
  })
  gauge('data_dir_free_bytes', 'What is free of it for this server', [], async (it) => {
    const found = await disk()
    if (found) it.set(found.bavail * found.bsize)
  })
}

/** One look at a time, whose outcome serves for a while. */
function cached<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { at: number; found: Promise<T> } | null = null
  return () => {
    if (!last || performance.now() - last.at > CACHE_TIME_MS) last = { at: performance.now(), found: read() }
    return last.found
  }
}
