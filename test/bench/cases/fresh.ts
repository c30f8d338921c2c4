/**
 * The first seconds of a fresh server, whose connections have planned nothing yet: on a database with statistics, and
 * on one without any, as after a restore.
 */
import { randomBytes } from 'node:crypto'
import { figure, type Table } from '../measure/report.ts'
import { cpuOf } from '../measure/usage.ts'
import type { Place } from '../place/place.ts'
import { startServer } from '../place/server.ts'
import type { Case } from './case.ts'
import { ONE_REQUESTS, somethingChanges } from './graphql.ts'

const SECONDS = 4

/** Returns a row for each of the first seconds. */
async function firstSeconds(place: Place, name: string): Promise<string[][]> {
  const { generator, postgres, seeded } = place
  const server = await startServer(place.folder, postgres.url, { key: seeded.keys[0] })
  const id = `fresh-${randomBytes(4).toString('hex')}`
  try {
    const requests = await ONE_REQUESTS(place, server.url)
    generator.prepare(id, { url: server.url, keys: seeded.keys, requests, status: 200 })
    const rows: string[][] = []
    for (let second = 1; second <= SECONDS; second++) {
      await somethingChanges(place)
      const before = cpuOf(postgres.pid)
      const ran = await generator.run(id, { connections: 16, seconds: 1 })
      const after = cpuOf(postgres.pid)
      const cpu = before === null || after === null ? '–' : figure(((after - before) * 1000) / ran.requests)
      rows.push([
        `${name}, second ${second}`,
        figure(ran.requests / ran.seconds),
        figure(ran.p50),
        figure(ran.p99),
        cpu,
      ])
    }
    return rows
  } finally {
    generator.forget(id)
    await server.end()
  }
}

/** Forgets all statistics. Autovacuum stays off until they are made again. */
async function withoutStatistics<T>({ postgres: { pool } }: Place, work: () => Promise<T>): Promise<T> {
  await pool.query('ALTER SYSTEM SET autovacuum = off')
  await pool.query('SELECT pg_reload_conf()')
  await pool.query(
    `SELECT pg_clear_attribute_stats(schemaname, tablename, attname, false) FROM pg_stats WHERE schemaname = 'public'`,
  )
  await pool.query(`SELECT pg_clear_relation_stats(schemaname, tablename) FROM pg_tables WHERE schemaname = 'public'`)
  try {
    return await work()
  } finally {
    await pool.query('ALTER SYSTEM RESET autovacuum')
    await pool.query('SELECT pg_reload_conf()')
    await pool.query('ANALYZE')
  }
}

export const freshCase: Case = {
  id: 'fresh',
  what: 'GraphQL: one deployment with its newest ten revisions, in the first seconds of a fresh server',
  async run(open): Promise<Table> {
    const place = await open()
    return {
      head: ['', 'requests/s', 'p50 ms', 'p99 ms', 'CPU ms per 1,000: Postgres'],
      rows: [
        ...(await firstSeconds(place, 'with statistics')),
        ...(await withoutStatistics(place, () => firstSeconds(place, 'without statistics'))),
      ],
    }
  },
}
