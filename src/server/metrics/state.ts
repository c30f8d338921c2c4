/**
 * Metrics of how things stand, asked for when somebody looks: the queue and the leases of the whole installation, and
 * this server's streams, waits, connections and disk.
 */
import { statfs } from 'node:fs/promises'
import type pg from 'pg'
import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../../database/client.ts'
import { OPEN } from '../../domain/revisions/lifecycle.ts'
import type { Rooms } from '../../domain/room.ts'

export interface Sources {
  database: Database
  rooms: Rooms
  dataDir: string
}

/** ms for which what the database said is good: however many look, it is asked no more often. */
const GOOD_FOR = 5_000

/** The queue, the leases and what the revisions in progress wait for, in one statement that indexes answer. */
const STANDING = `
  SELECT (SELECT count(*)::int FROM deployments WHERE claim_id IS NOT NULL AND lease_expires_at > now()) AS leases, q.steps, q.oldest,
    (SELECT coalesce(json_agg(r), '[]') FROM (
      SELECT status, coalesce(reason, 'none') AS reason, count(*)::int AS count FROM revisions
      WHERE status IN (${OPEN.map((status) => `'${status}'`).join(', ')}) GROUP BY 1, 2) AS r) AS open
  FROM (SELECT count(*)::int AS steps, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8 AS oldest
        FROM steps WHERE finished_at IS NULL AND first_taken_at IS NULL) AS q`

interface Standing {
  leases: number
  steps: number
  oldest: number
  /** revisions in progress */
  open: { status: string; reason: string; count: number }[]
}

export function measureState(register: Registry, { database, rooms, dataDir }: Sources): void {
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

  const standing = cached(() => ask(database.health))
  const ofDatabase = (name: string, help: string, value: (found: Standing) => number) =>
    gauge(name, help, [], async (it) => {
      const found = await standing()
      if (found) it.set(value(found))
      else it.remove()
    })
  // asked by itself: how long the counts take is not whether it answers
  const up = cached(() => answers(database.health))
  gauge('database_up', '1: the database answers', [], async (it) => it.set((await up()) ? 1 : 0))
  ofDatabase('queue_steps', 'Steps of the installation that nobody has taken yet', ({ steps }) => steps)
  ofDatabase('queue_oldest_seconds', 'Age of the oldest of them; 0: there is none', ({ oldest }) => oldest)
  ofDatabase('leases_held', 'Deployments of the installation that somebody holds', ({ leases }) => leases)

  const open = 'Revisions of the installation in progress, by what they wait for (`none`: nothing is in their way)'
  gauge('revisions_open', open, ['status', 'reason'], async (it) => {
    it.reset()
    for (const { status, reason, count } of (await standing())?.open ?? []) it.set({ status, reason }, count)
  })

  gauge('streams', 'Streams of this server that are open', [], (it) => it.set(rooms.streams.taken))
  gauge('waits', 'Calls at this server that wait for something', ['of'], (it) => {
    it.set({ of: 'people' }, rooms.waits.taken)
    it.set({ of: 'listeners' }, rooms.listenerWaits.taken)
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

/** Null: not within the limits of the pool. */
async function ask(health: pg.Pool): Promise<Standing | null> {
  return health.query<Standing>(STANDING).then(
    ({ rows: [found] }) => found ?? null,
    () => null,
  )
}

function answers(health: pg.Pool): Promise<boolean> {
  return health.query('SELECT 1').then(
    () => true,
    () => false,
  )
}

/** One look at a time, whose outcome serves for a while. */
function cached<T>(look: () => Promise<T>): () => Promise<T> {
  let last: { at: number; found: Promise<T> } | null = null
  return () => {
    if (!last || performance.now() - last.at > GOOD_FOR) last = { at: performance.now(), found: look() }
    return last.found
  }
}
