/**
 * Ceilings of one Postgres and one server, for docs/scaling.md: events appended to one and to several logs, leases
 * renewed, log lines stored. Steps, subscribers and waits are separate cases.
 */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { figure, type Table } from '../measure/report.ts'
import { cpuOf } from '../measure/usage.ts'
import type { Place } from '../place/place.ts'
import type { Case } from './case.ts'

const SECONDS = 4
/** Connections that append, as from several servers. */
const APPENDERS = 16
/** Events per transaction, as in a PATCH. */
const EVENTS = 3
const LOGS = 8
const WORKERS = 4
/** Lines per call. */
const LINES = 500

interface Rate {
  perSecond: number
  /** CPU time in ms per 1,000. */
  server: number | null
  postgres: number | null
}

/** `once` returns how many it has done; `loops` of them run concurrently. */
async function rate(place: Place, loops: number, once: (loop: number) => Promise<number>): Promise<Rate> {
  const cpu = () => [cpuOf(place.server.pid), cpuOf(place.postgres.pid)]
  const [server, postgres] = cpu()
  const began = performance.now()
  let done = 0
  await Promise.all(
    Array.from({ length: loops }, async (_, loop) => {
      while (performance.now() - began < SECONDS * 1000) {
        const more = await once(loop)
        done += more
      }
    }),
  )
  const seconds = (performance.now() - began) / 1000
  const per = (now: number | null, then: number | null) => (now === null ? null : ((now - then!) * 1000) / done)
  const after = cpu()
  return { perSecond: done / seconds, server: per(after[0]!, server!), postgres: per(after[1]!, postgres!) }
}

/** As in src/domain/outbox/append.ts: the counter's row is locked until the commit is on disk. */
const append = (source: string) => `WITH counter AS (
    UPDATE event_counters SET sequence = sequence + ${EVENTS} WHERE workspace_id = $1 RETURNING sequence
  ), notified AS MATERIALIZED (SELECT pg_notify('pilothouse_bench', $1::text) FROM counter)
  INSERT INTO events (workspace_id, sequence, type, deployment_id, actor_kind)
  SELECT $1, counter.sequence - ${EVENTS} + n, 'deployment.updated', $2, 'system' FROM ${source}, generate_series(1, ${EVENTS}) n`
const NOTIFYING = append('notified, counter')
/** Measures a future without NOTIFY: Postgres leaves out a CTE that nothing refers to. */
const SILENT = append('counter')

async function appending(place: Place, logs: number, text = NOTIFYING): Promise<Rate> {
  const { pool, url } = place.postgres
  const { rows } = await pool.query<{ id: string }>(
    `WITH made AS (
       INSERT INTO workspaces (id, organization_id, name)
       SELECT gen_random_uuid(), organization_id, $2 || n FROM workspaces, generate_series(1, $3::int) n WHERE workspaces.id = $1 RETURNING id
     ) INSERT INTO event_counters (workspace_id) SELECT id FROM made RETURNING workspace_id AS id`,
    [place.seeded.workspaceId, `bench ${randomBytes(4).toString('hex')} `, logs],
  )
  const clients = await Promise.all(
    Array.from({ length: APPENDERS }, async () => {
      const client = new pg.Client(url)
      await client.connect()
      return client
    }),
  )
  try {
    return await rate(place, APPENDERS, async (loop) => {
      const values = [rows[loop % logs]!.id, place.seeded.rows[loop]!.id]
      await clients[loop]!.query({ name: 'append', text, values })
      return EVENTS
    })
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}

interface Claim {
  claim_id: string
  token: string
  generation: number
  run: { revision: { id: string; attempt: number } }
}

async function listening(place: Place): Promise<{ leases: Rate; lines: Rate; held: number }> {
  const { id, key } = place.seeded.stepListeners.at(-1)!
  const call = async (path: string, body: object) => {
    const response = await fetch(`${place.server.url}/v2/listeners/${id}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${path}: ${text}`)
    return JSON.parse(text || '{}')
  }
  const claims: Claim[] = []
  for (;;) {
    const answer = await call('/claims', { holder: 'bench', max: 100, lease_seconds: 300 })
    if (answer.claims.length === 0) break
    claims.push(...answer.claims)
  }
  const items = claims.map(({ claim_id, token, generation }) => ({
    ...{ claim_id, token, generation },
    health: { ready: 1, desired: 1 },
  }))
  const share = Math.ceil(items.length / WORKERS)
  const leases = await rate(place, WORKERS, async (worker) => {
    const own = items.slice(worker * share, (worker + 1) * share)
    await call('/heartbeat', { lease_seconds: 300, claims: own })
    return own.length
  })
  const entries = Array.from({ length: LINES }, (_, n) => ({
    type: 'deploy',
    message: `line ${n} of what an agent prints: a request was answered in so many milliseconds, with this and that`,
    time: new Date().toISOString(),
  }))
  const lines = await rate(place, WORKERS, async (worker) => {
    const { claim_id, token, run } = claims[worker]!
    const { id: revision_id, attempt } = run.revision
    await call(`/claims/${claim_id}/logs`, { token, revision_id, attempt, entries })
    return LINES
  })
  return { leases, lines, held: claims.length }
}

export const ceilingsCase: Case = {
  id: 'ceilings',
  what: 'Ceilings of one Postgres and one server',
  async run(open): Promise<Table> {
    const place = await open()
    const one = await appending(place, 1)
    const several = await appending(place, LOGS)
    const silent = await appending(place, LOGS, SILENT)
    const { leases, lines, held } = await listening(place)
    const row = (name: string, { perSecond, server, postgres }: Rate) => [
      name,
      figure(perSecond),
      server === null ? '–' : figure(server),
      postgres === null ? '–' : figure(postgres),
    ]
    return {
      head: ['', 'a second', 'CPU ms per 1,000: server', 'Postgres'],
      rows: [
        row(`events appended in one workspace, by ${APPENDERS} connections`, { ...one, server: null }),
        row(`events appended in ${LOGS} workspaces`, { ...several, server: null }),
        row('the same without NOTIFY', { ...silent, server: null }),
        row(`leases renewed, of ${held} claims in ${WORKERS} heartbeats side by side`, leases),
        row(`log lines taken, ${LINES} a call, ${WORKERS} calls side by side`, lines),
      ],
    }
  },
}
