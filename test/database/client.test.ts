// The Prisma client as the server uses it: time zone, timeouts, robustness, and how statements are observed.
import { expect, test } from 'vitest'
import { connectDatabase } from '../../src/platform/postgres/client.ts'
import { asAdmin, countStatements, useDatabase } from '../support/database.ts'
import { useStarted } from '../support/started.ts'

const database = useDatabase()
const db = useStarted(async () => connectDatabase({ url: database.url, poolSize: 2 }))

const terminateAll = () =>
  asAdmin(database.url, (admin) =>
    admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'pilothouse' AND datname = current_database()`,
    ),
  )

test('a time is read as it was stored, for any time zone and options in the URL', async () => {
  const url = new URL(database.url)
  url.searchParams.set('options', '-c TimeZone=Europe/Berlin -c statement_timeout=1234')
  const berlin = connectDatabase({ url: url.toString(), poolSize: 1 })
  try {
    const createdAt = new Date('2026-07-01T12:00:00.123Z')
    const { id } = await berlin.requests.db.organization.create({ data: { name: 'Time', plan: 'plus', createdAt } })
    expect((await berlin.requests.db.organization.findUniqueOrThrow({ where: { id } })).createdAt).toEqual(createdAt)
    const [row] = await berlin.requests.db.$queryRaw<object[]>`
      SELECT extract(epoch FROM created_at)::float8 * 1000 AS ms, current_setting('statement_timeout') AS timeout
        FROM organizations WHERE id = ${id}::uuid`
    expect(row).toEqual({ ms: createdAt.getTime(), timeout: '1234ms' })
  } finally {
    await berlin.close()
  }
})

test('in every pool statements, locks and idle transactions time out within seconds, on both ends', async () => {
  for (const [name, pool] of Object.entries(db.pools)) {
    const { rows } = await pool.query(`
      SELECT current_setting('statement_timeout')::interval BETWEEN '1 s' AND '20 s' AS statement,
             current_setting('lock_timeout')::interval BETWEEN '0.1 s' AND '5 s' AS lock,
             current_setting('idle_in_transaction_session_timeout')::interval BETWEEN '1 s' AND '10 s' AS idle`)
    expect(rows, name).toEqual([{ statement: true, lock: true, idle: true }])
  }
})

test('a connection keeps the 100 most recently used prepared statements and prepares others again', async () => {
  const own = connectDatabase({ url: database.url, poolSize: 1 })
  try {
    const ask = (i: number) =>
      own.requests.query<{ value: number }>({ name: `s${i}`, text: `SELECT ${i} + $1::int AS value` }, [1])
    for (let i = 0; i < 150; i++) {
      expect(await ask(i)).toEqual([{ value: i + 1 }])
      expect(await ask(0)).toEqual([{ value: 1 }])
    }
    const { rows } = await own.pools.api.query('SELECT name FROM pg_prepared_statements')
    const names = rows.map(({ name }) => name)
    expect(names).toHaveLength(100)
    expect(names).toEqual(expect.arrayContaining(['s0', 's149']))
    expect(names).not.toContain('s1')
    expect(await ask(1)).toEqual([{ value: 2 }])
    await expect(own.requests.query({ name: 'wrong', text: 'SELECT 1 / 0' }, [])).rejects.toThrow()
    for (let i = 200; i < 310; i++) expect(await ask(i)).toEqual([{ value: i + 1 }])
  } finally {
    await own.close()
  }
})

test('statements are counted as Postgres receives them, without transaction control', async () => {
  const statements = await countStatements(db, () =>
    db.requests.db.$transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 AS one`
      await tx.organization.count()
    }),
  )
  expect(statements).toHaveLength(2)
  expect(statements[0]).toBe('SELECT 1 AS one')
  expect(await countStatements(db, async () => {})).toEqual([])
})

test('fifty transactions that queue for two connections all complete', async () => {
  const name = 'Queue'
  await Promise.all(
    Array.from({ length: 50 }, () =>
      db.requests.db.$transaction(async (tx) => {
        await tx.organization.create({ data: { name, plan: 'plus' } })
      }),
    ),
  )
  expect(await db.requests.db.organization.count({ where: { name } })).toBe(50)
})

test('connections closed by Postgres, idle or in a transaction, are replaced, and the process survives', async () => {
  await db.requests.db.organization.count()
  await terminateAll()
  const broken = db.requests.db.$transaction(async (tx) => {
    await tx.organization.create({ data: { name: 'Broken', plan: 'plus' } })
    await terminateAll()
    await tx.organization.count()
  })
  await expect(broken).rejects.toThrow()
  expect(await db.requests.db.organization.count({ where: { name: 'Broken' } })).toBe(0)
})
