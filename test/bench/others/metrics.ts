/**
 * Metrics of 1,000 deployments (BENCH_METRICS): the cost of measuring and storing them, of a chart of a day, and of the hourly
 * roll-up. Processes and the database are real, the requests are those of a door's figures. Linux only.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../../../src/app/app.ts'
import { createMeasure } from '../../../src/dataplane/process/measure.ts'
import type { Runtime } from '../../../src/dataplane/runtimes/runtime.ts'
import { measureRegularly } from '../../../src/dataplane/worker/metrics-loop.ts'
import { localControlPlane } from '../../../src/domain/claims/control-plane.ts'
import { rollUpMetrics } from '../../../src/domain/metrics/roll-up.ts'
import type { AgentFigures, DoorFigures, RevisionFigures } from '../../../src/domain/values/door-figures.ts'
import { MEASURES } from '../../../src/domain/values/metrics.ts'
import { cpuOf } from '../measure/usage.ts'
import { withApp } from './own-app.ts'
import { caller, say, time } from './support.ts'

const DEPLOYMENTS = Number(process.env.BENCH_METRICS ?? 1000)
/** Of them get 50 requests a second. */
const BUSY_SHARE = 0.5
const MEASURED_MS = 120_000
const BUCKETS = 25

export const metricsOfMany = (): Promise<void> => withApp(measure)

interface Agent {
  deploymentId: string
  revisionId: string
  process: ChildProcess
}

async function measure(app: App, key: string): Promise<void> {
  const { core } = app
  const call = caller(app.publicUrl, key)
  const agents: Agent[] = []
  try {
    for (let i = 0; i < DEPLOYMENTS; i++) agents.push(await agent(call))
    const postgres = await postmaster(core)
    const [own, database] = await used(postgres, () => sleep(MEASURED_MS / 4))
    const rowsOf = async () =>
      Number((await core.db.$queryRaw<{ n: bigint }[]>`SELECT count(*) AS n FROM metric_chunks`)[0]!.n)
    const stop = new AbortController()
    const runtime = { measure: measureOf(agents) }
    const { log, clock } = core
    void measureRegularly({ controlPlane: localControlPlane(core), runtime, log, clock }, stop.signal)
    await sleep(MEASURED_MS / 2)
    const before = await rowsOf()
    const [ownMeasuring, databaseMeasuring] = await used(postgres, () => sleep(MEASURED_MS))
    stop.abort()
    say(
      `${DEPLOYMENTS} deployments, half of them with requests: rows written a second`,
      (((await rowsOf()) - before) / (MEASURED_MS / 1000)).toFixed(0),
    )
    say('  CPU of the server for it', percent(ownMeasuring - own))
    say('  CPU of Postgres for it', percent(databaseMeasuring - database))

    await fillHour(core, agents)
    await core.db.metricRollup.updateMany({
      where: { resolution: 60 },
      data: { until: new Date(Date.now() - 3 * 3_600_000) },
    })
    const began = performance.now()
    const isOver = async () =>
      (await core.db.metricRollup.findUniqueOrThrow({ where: { resolution: 60 } })).target === null
    do await rollUpMetrics({ ...core, ...app.database.background }, new AbortController().signal)
    while (!(await isOver()))
    say('roll-up of an hour with requests at all of them', `${((performance.now() - began) / 1000).toFixed(1)} s`)
    await sizes(core)

    await fillDay(core, agents.slice(0, 100))
    const from = () => new Date(Date.now() - 86_400_000 + 60_000).toISOString()
    const chart = (query: string) => (i: number) =>
      call('GET', `/v2/deployments/${agents[i % 100]!.deploymentId}/metrics?from=${from()}${query}`)
    await time('chart of a day, requests and p95, ms', 50, chart('&names=requests,errors,latency_p95'))
    await time('chart of a day, all series by the minute, ms', 50, chart('&step=60'))
  } finally {
    for (const { process } of agents) process.kill('SIGKILL')
  }
}

type Core = App['core']

async function agent(call: ReturnType<typeof caller>): Promise<Agent> {
  const body = { name: `bench-${randomUUID()}`, source: 'internal_container', source_config: {}, secrets: [] }
  const made = await call('POST', '/v2/deployments', { ...body, source_revision_config: { image_uri: 'agent:1' } })
  const process = spawn('sleep', ['3600'], { detached: true, stdio: 'ignore' })
  return { deploymentId: made.id, revisionId: made.latest_revision_id, process }
}

function measureOf(agents: readonly Agent[]): NonNullable<Runtime['measure']> {
  let rounds = 0
  // as a door would send them
  const figures = async () => JSON.parse(JSON.stringify(doorFigures(agents, ++rounds))) as DoorFigures
  const { measure: all } = createMeasure(figures, async () => new Map())
  const held = agents.map(({ deploymentId, revisionId, process }) => ({
    deploymentId,
    agents: [{ key: revisionId, revisionId, artifact: '', container: null, pid: process.pid! }],
    serving: { revisionId, ready: 1, memoryLimit: 2e9 },
    restarts: [],
  }))
  return () => all(held)
}

function doorFigures(agents: readonly Agent[], rounds: number): DoorFigures {
  const of = (requests: number): RevisionFigures => ({
    answers: [0, 0, requests, 0, 0, 0],
    latencies: Array.from({ length: BUCKETS }, (_, i) => [60 + i, requests / BUCKETS]),
    open: requests > 0 ? 5 : 0,
    received: requests * 300,
    sent: requests * 1000,
  })
  const figures = agents.map(({ deploymentId, revisionId }, i): [string, AgentFigures] => {
    const requests = i < agents.length * BUSY_SHARE ? rounds * 500 : 0
    const { answers, ...rest } = of(requests)
    const durations = Array.from({ length: 14 }, (_, n) => ({ le: n, count: requests }))
    return [
      deploymentId,
      {
        ...rest,
        answers: { '2xx': answers[2]! },
        durations,
        durationSum: requests,
        requestsOpen: 0,
        webSocketsOpen: 0,
        revisions: { [revisionId]: of(requests) },
      },
    ]
  })
  return { agents: Object.fromEntries(figures), droppedLogLines: 0 }
}

async function postmaster({ db }: Core): Promise<number> {
  const [row] = await db.$queryRaw<
    { pid: string }[]
  >`SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1) AS pid`
  return Number(row!.pid)
}

/** CPU seconds a second of this process and of Postgres during `work`. */
async function used(postgres: number, work: () => Promise<unknown>): Promise<[own: number, postgres: number]> {
  const [own, database, began] = [process.cpuUsage(), cpuOf(postgres)!, performance.now()]
  await work()
  const ms = performance.now() - began
  const { user, system } = process.cpuUsage(own)
  return [(user + system) / 1000 / ms, (cpuOf(postgres)! - database) / ms]
}

const percent = (share: number) => `${(share * 100).toFixed(1)} % of a core`

const ARRAY = `(SELECT array_agg(ARRAY(SELECT random()::real FROM generate_series(1, ${MEASURES.length})))`

/** Samples of 10 s of the hour before the last one. */
async function fillHour({ db }: Core, agents: readonly Agent[]): Promise<void> {
  for (let from = 0; from < agents.length; from += 100) {
    const part = agents.slice(from, from + 100)
    await db.$executeRawUnsafe(
      `INSERT INTO metric_chunks (deployment_id, resolution, start, revision_id, source, measures, buckets, counts)
       SELECT a.d, 10, date_trunc('hour', now()) - interval '2 hours' + s * interval '20 seconds', a.r, 1,
              ${ARRAY} FROM generate_series(1, 2)),
              ARRAY(SELECT n * 200 + 60 + b FROM generate_series(0, 1) n, generate_series(1, ${BUCKETS}) b)::smallint[],
              ARRAY(SELECT 20 FROM generate_series(1, ${BUCKETS * 2}))
       FROM unnest($1::uuid[], $2::uuid[]) AS a(d, r), generate_series(0, 179) s`,
      part.map(({ deploymentId }) => deploymentId),
      part.map(({ revisionId }) => revisionId),
    )
  }
}

/** Samples of a minute of a day. */
async function fillDay({ db }: Core, agents: readonly Agent[]): Promise<void> {
  await db.$executeRawUnsafe(
    `INSERT INTO metric_chunks (deployment_id, resolution, start, revision_id, source, measures, buckets, counts)
     SELECT a.d, 60, date_trunc('hour', now()) - s * interval '1 hour', a.r, 0, ${ARRAY} FROM generate_series(1, 60)),
            ARRAY(SELECT n * 200 + 60 + b FROM generate_series(0, 59) n, generate_series(1, ${BUCKETS}) b)::smallint[],
            ARRAY(SELECT 120 FROM generate_series(1, ${BUCKETS * 60}))
     FROM unnest($1::uuid[], $2::uuid[]) AS a(d, r), generate_series(1, 25) s ON CONFLICT DO NOTHING`,
    agents.map(({ deploymentId }) => deploymentId),
    agents.map(({ revisionId }) => revisionId),
  )
  await db.$executeRawUnsafe('ANALYZE metric_chunks')
}

async function sizes({ db }: Core): Promise<void> {
  const rows = await db.$queryRaw<{ resolution: number; bytes: number }[]>`
    SELECT resolution::int, avg(pg_column_size(c.*))::float AS bytes FROM metric_chunks c GROUP BY 1 ORDER BY 1`
  for (const { resolution, bytes } of rows) say(`bytes of a row with samples of ${resolution} s`, bytes.toFixed(0))
}
