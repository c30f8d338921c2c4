/**
 * Gauges that are read at each scrape: queue and leases of the installation, and streams, waits, connections and disk of this
 * server.
 */
import { statfs } from 'node:fs/promises'
import { Gauge, type Registry } from 'prom-client'
import { type QueueState, readQueueState } from '../../domain/claims/queue.ts'
import type { ConcurrencyLimits } from '../../domain/concurrency/concurrency-limit.ts'
import { OVERLOAD_CAUSES, type Overload, type OverloadCause } from '../../platform/async/overload.ts'
import type { Database } from '../../platform/postgres/client.ts'

export interface GaugeSources {
  database: Database
  overload: Overload
  slots: ConcurrencyLimits
  dataDir: string
}

/** Limits the queries of frequent or concurrent scrapes. */
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

  // null: the query failed or exceeded the time limits of its pool
  const queue = cached(() => readQueueState(database.pools.health).catch(() => null))
  const queueGauge = (name: string, help: string, value: (found: QueueState) => number) =>
    gauge(name, help, [], async (it) => {
      const found = await queue()
      if (found) it.set(value(found))
      else it.remove()
    })
  // separate, because slow counts don't mean that the database is down
  const up = cached(() => database.answers())
  gauge('database_up', '1 if the database answers', [], async (it) => it.set((await up()) ? 1 : 0))
  gauge('overloaded', '1 if this server is overloaded by this cause and starts less work', ['cause'], (it) => {
    for (const cause of Object.keys(OVERLOAD_CAUSES) as OverloadCause[])
      it.set({ cause }, overload.now?.causes.includes(cause) ? 1 : 0)
  })
  queueGauge('queue_steps', 'Steps of the installation that no worker has taken yet', ({ steps }) => steps)
  queueGauge(
    'queue_oldest_seconds',
    'Age of the oldest step in the queue; 0 if the queue is empty',
    ({ oldest }) => oldest,
  )
  queueGauge('leases_held', 'Deployments of the installation that have a lease holder', ({ leases }) => leases)

  const deliveries = 'Deliveries to webhook endpoints that wait, and dead letters, of the installation'
  gauge('webhook_deliveries', deliveries, ['state'], async (it) => {
    it.reset()
    for (const [state, count] of Object.entries((await queue())?.deliveries ?? {})) it.set({ state }, count)
  })

  const open = 'Revisions of the installation in progress, by the reason why they wait (`none`: they do not wait)'
  gauge('revisions_open', open, ['status', 'reason'], async (it) => {
    it.reset()
    for (const { status, reason, count } of (await queue())?.open ?? []) it.set({ status, reason }, count)
  })

  gauge('streams', 'Open streams of this server', [], (it) => it.set(slots.streams.inUse))
  gauge('waits', 'Long polls of this server', ['of'], (it) => {
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
  gauge('data_dir_free_bytes', 'Free space of that disk for this server', [], async (it) => {
    const found = await disk()
    if (found) it.set(found.bavail * found.bsize)
  })
}

/** Shares one read, and its result for CACHE_TIME_MS. */
export function cached<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { at: number; found: Promise<T> } | null = null
  return () => {
    if (!last || performance.now() - last.at > CACHE_TIME_MS) last = { at: performance.now(), found: read() }
    return last.found
  }
}
