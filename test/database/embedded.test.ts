// The embedded Postgres: who starts it, who stops it, and who may connect.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { rm } from 'node:fs/promises'
import net from 'node:net'
import path from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createDatabaseAdmin } from '../../src/dataplane/process/isolation/database.ts'
import { connectDatabase } from '../../src/platform/postgres/client.ts'
import { startEmbedded } from '../../src/platform/postgres/embedded/embedded.ts'
import { findPostmaster, lastPort } from '../../src/platform/postgres/embedded/postmaster.ts'
import { onSingleConnection } from '../../src/platform/postgres/single-connection.ts'
import { command } from '../client/support.ts'
import { NOT_DURABLE, newDataDir } from '../support/data-dir.ts'
import { asAdmin, atDatabase, overTcp } from '../support/database.ts'
import { otherCheckout, useInProcess } from '../support/embedded-process.ts'

// one cluster for the whole file (except the first-start test); each test leaves it stopped
const dataDir = newDataDir()
const start = () => startEmbedded({ dataDir, settings: NOT_DURABLE })
beforeAll(async () => (await start()).stop())
afterAll(() => rm(dataDir, { recursive: true, force: true }))

/** A Postgres's socket is inside the folder. */
const STOPPED = 'ENOENT'

/** Null when the login succeeds, otherwise the error's code. */
const refusal = (url: string) =>
  asAdmin(url, (client) => client.query('SELECT 1')).then(
    () => null,
    (error: pg.DatabaseError) => error.code ?? error.message,
  )

/** Number of its users; null while it does not answer. */
const usersOf = (url: string) =>
  asAdmin(url, (client) =>
    client.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ShareLock'`),
  ).then(
    ({ rowCount }) => rowCount,
    () => null,
  )

/** Address by which a server connects. */
const wayTo = (url: string) =>
  onSingleConnection(url, { name: 'test' }, async (client) => {
    const { rows } = await client.query('SELECT inet_server_addr() AS address')
    return rows[0].address === null ? 'socket' : 'TCP'
  })

const postmaster = () => Number.parseInt(fs.readFileSync(path.join(dataDir, 'postgres/postmaster.pid'), 'utf8'), 10)

const withPassword = (url: string, user: string, password: string) => {
  const other = new URL(url)
  other.username = user
  other.password = password
  return other.toString()
}

describe('an operator’s command with an unused DATA_DIR creates no database', () => {
  const other = newDataDir()
  const commands = [
    ['server', 'keys', 'list'],
    ['server', 'sessions', 'list'],
    ['server', 'workspaces', 'list'],
    ['server', 'dashboard'],
    ['server', 'secrets', 'rotate'],
    ['server', 'secrets', 'rotate', '--new-key'],
    ['server', 'migrate'],
    ['server', 'backup', `${other}-backup`],
  ]
  beforeEach(() => {
    vi.stubEnv('DATABASE_URL', '')
    vi.stubEnv('DATA_DIR', other)
    onTestFinished(() => void vi.unstubAllEnvs())
  })

  test.each(commands)('%s %s', async (...args) => {
    const ran = await command(args, {})
    expect(ran).toMatchObject({ code: 1, err: expect.stringContaining(`No server has run with DATA_DIR=${other}; `) })
    expect(fs.existsSync(other)).toBe(false)
  })

  test('the error names the DATA_DIR in use, even one with a space', async () => {
    const spaced = `${newDataDir()} of mine`
    onTestFinished(() => rm(spaced, { recursive: true, force: true }))
    const running = await startEmbedded({ dataDir: spaced, settings: NOT_DURABLE })
    onTestFinished(() => running.stop())
    const { err } = await command(['server', 'keys', 'list'], {})
    expect(err).toMatch(new RegExp(`; the running .*DATA_DIR=${spaced}(,|\\.$)`, 'm'))
  })
})

test('a server connects to its Postgres by a socket in a private folder', async () => {
  const server = await start()
  onTestFinished(() => server.stop())
  const folder = new URL(server.url).searchParams.get('host')!
  expect(fs.statSync(folder).mode & 0o777).toBe(0o700)
  expect(fs.readdirSync(folder)).toContain(`.s.PGSQL.${new URL(server.url).port}`)
  expect(await wayTo(server.url)).toBe('socket')
})

test('a DATA_DIR path longer than a socket path may be works', async () => {
  const long = path.join(newDataDir(), 'a'.repeat(75), 'b'.repeat(75))
  onTestFinished(() => rm(path.dirname(path.dirname(long)), { recursive: true, force: true }))
  const server = await startEmbedded({ dataDir: long, settings: NOT_DURABLE })
  onTestFinished(() => server.stop())
  expect(await wayTo(server.url)).toBe(process.platform === 'linux' ? 'socket' : 'TCP')
})

test('a Postgres started by an earlier version is joined by TCP and has a socket after its next start', async () => {
  const rules = path.join(dataDir, 'postgres/pg_hba.conf')
  fs.writeFileSync(rules, fs.readFileSync(rules, 'utf8').replace(/^local.*\n/gm, ''))
  const settings = { ...NOT_DURABLE, unix_socket_directories: '' }
  const earlier = await startEmbedded({ dataDir, settings })
  const joined = await start()
  expect([joined.started, await wayTo(joined.url)]).toEqual([false, 'TCP'])
  await earlier.stop()
  process.kill(postmaster(), 'SIGKILL')
  // its clients stay on TCP
  await vi.waitFor(async () => expect(await usersOf(joined.url)).toBe(1), { timeout: 20_000 })
  const next = await start()
  expect([next.started, await wayTo(next.url)]).toEqual([false, 'socket'])
  await next.stop()
  await joined.stop()
  expect(await refusal(next.url)).toBe(STOPPED)
})

test('servers use TCP when the socket can’t be created', async () => {
  const server = await startEmbedded({
    dataDir,
    settings: { ...NOT_DURABLE, unix_socket_directories: `/${'a'.repeat(150)}` },
  })
  onTestFinished(() => server.stop())
  expect(await wayTo(server.url)).toBe('TCP')
})

describe('a program that took the port of a Postgres without a socket gets neither password nor statements', () => {
  const int32 = (...values: number[]) =>
    Buffer.concat(values.map((value) => Buffer.from(Uint32Array.of(value).buffer).swap32()))
  const authentication = (...values: number[]) =>
    Buffer.concat([Buffer.from('R'), int32(4 + 4 * values.length, ...values)])
  const ready = Buffer.concat([Buffer.from('Z'), int32(5), Buffer.from('I')])

  test.each([
    ['asks for the password', authentication(3)],
    ['asks for the password’s MD5', authentication(5, 1)],
    ['proves nothing', Buffer.concat([authentication(12), authentication(0), ready])],
    ['asks for nothing', Buffer.concat([authentication(0), ready])],
  ])('when it %s', async (_, answer) => {
    const server = await startEmbedded({ dataDir, settings: { ...NOT_DURABLE, unix_socket_directories: '' } })
    await server.stop()
    const { port } = new URL(server.url)
    let heard = ''
    let greetings = 0
    const impostor = net.createServer((socket) => {
      socket.once('data', () => {
        greetings++
        socket.write(answer)
        socket.on('data', (chunk) => {
          heard += chunk.toString('latin1')
        })
      })
      socket.on('error', () => undefined)
    })
    await once(impostor.listen(Number(port), '127.0.0.1'), 'listening')
    onTestFinished(() => void impostor.close())

    const secret = `CREATE ROLE four PASSWORD 'pw-four'`
    const refused = /does not log clients in by SCRAM-SHA-256|SASL: |reading 'message'/
    await expect(onSingleConnection(server.url, { name: 'test' }, (client) => client.query(secret))).rejects.toThrow(
      refused,
    )
    const database = connectDatabase({ url: server.url, poolSize: 1 })
    await expect(database.pools.api.query(secret)).rejects.toThrow(refused)
    await database.close()
    await expect(
      createDatabaseAdmin(server.url).run(new AbortController().signal, async (query) => void (await query(secret))),
    ).rejects.toThrow(refused)
    expect(greetings).toBe(3)
    expect(heard).toBe('')
  })
})

test('three servers that start together on a new DATA_DIR share one Postgres, and the last one stops it', async () => {
  const fresh = newDataDir()
  onTestFinished(() => rm(fresh, { recursive: true, force: true }))
  const servers = await Promise.all([1, 2, 3].map(() => useInProcess(fresh)))
  const [{ url }] = servers as [(typeof servers)[0]]
  expect(servers.map((server) => server.url)).toEqual([url, url, url])
  expect(servers.filter((server) => server.started)).toHaveLength(1)

  const last = servers.pop()!
  await Promise.all(servers.map((server) => server.end('stop')))
  expect(await refusal(url)).toBeNull()
  await last.end('stop')
  expect(await refusal(url)).toBe(STOPPED)
})

test('Postgres runs while an agent needs it, and the next server joins it', async () => {
  let agents = 1
  const needed = () => agents > 0
  const first = await startEmbedded({ dataDir, settings: NOT_DURABLE, needed })
  await first.stop()
  expect(await refusal(first.url)).toBeNull()

  const next = await startEmbedded({ dataDir, settings: NOT_DURABLE, needed })
  expect([next.started, next.url]).toEqual([false, first.url])
  agents = 0
  await next.stop()
  expect(await refusal(first.url)).toBe(STOPPED)
})

test('Postgres stops when the last agent and the last server end at the same moment', async () => {
  const asked: boolean[] = []
  // the first call finds an agent, later calls none
  const needed = () => asked.push(true) === 1
  const server = await startEmbedded({ dataDir, settings: NOT_DURABLE, needed })
  await server.stop()
  await expect.poll(() => refusal(server.url)).toBe(STOPPED)
  await expect.poll(() => findPostmaster(path.join(dataDir, 'postgres'))).toBeUndefined()
})

test('removing the checkout disturbs neither the running Postgres nor its next start', async () => {
  const checkout = path.join(dataDir, 'checkout')
  otherCheckout(checkout)
  const server = await useInProcess(dataDir, checkout)
  expect(server.started).toBe(true)
  fs.rmSync(checkout, { recursive: true })
  // files that Postgres loads lazily: a library, and data files
  const works = () =>
    asAdmin(server.url, (admin) => admin.query(`SELECT to_tsvector('english', 'agents are running') AS words`))
  expect((await works()).rows).toEqual([{ words: "'agent':1 'run':3" }])

  process.kill(postmaster(), 'SIGKILL')
  await vi.waitFor(async () => expect(await usersOf(server.url)).toBe(1), { timeout: 20_000 })
  expect((await works()).rows).toHaveLength(1)
  await server.end('stop')
  expect(await refusal(server.url)).toBe(STOPPED)
})

test('files of another major version are refused in one line that says what to do', async () => {
  const version = path.join(dataDir, 'postgres/PG_VERSION')
  const own = fs.readFileSync(version, 'utf8')
  fs.writeFileSync(version, '14\n')
  try {
    await expect(start()).rejects.toThrow(/ is of Postgres 14, and this version brings Postgres 1[5-9]: go back /)
  } finally {
    fs.writeFileSync(version, own)
  }
})

test('a server that starts while the last one stops Postgres starts it again', async () => {
  const first = await start()
  const stopping = first.stop()
  const second = await start()
  await stopping
  expect(await refusal(second.url)).toBeNull()
  await second.stop()
  expect(await refusal(second.url)).toBe(STOPPED)
})

test('Postgres survives kill -9 of the server that started it, and the last server stops it', async () => {
  const starter = await useInProcess(dataDir)
  expect(starter.started).toBe(true)
  await starter.end('kill -9')

  const [joined, another] = [await start(), await start()]
  expect([joined.started, another.started, joined.url]).toEqual([false, false, starter.url])
  await joined.stop()
  expect(await refusal(another.url)).toBeNull()
  await another.stop()
  await another.stop()
  expect(await refusal(another.url)).toBe(STOPPED)
})

test('a server whose usage lock connection broke is counted again', async () => {
  const first = await start()
  // waits for its end, because it is counted until then
  await asAdmin(first.url, (admin) =>
    admin.query(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'pilothouse embedded'`,
    ),
  )
  await vi.waitFor(async () => expect(await usersOf(first.url)).toBe(1), { timeout: 20_000 })
  const second = await start()
  await second.stop()
  expect(await refusal(first.url)).toBeNull()
  await first.stop()
  expect(await refusal(first.url)).toBe(STOPPED)
})

test('a killed Postgres restarts on the same port for all its servers', async () => {
  const servers = [await start(), await start()]
  const [{ url }] = servers as [(typeof servers)[0]]
  process.kill(postmaster(), 'SIGKILL')
  await vi.waitFor(async () => expect(await usersOf(url)).toBe(2), { timeout: 20_000 })
  for (const server of servers) {
    expect(await refusal(url)).toBeNull()
    await server.stop()
  }
  expect(await refusal(url)).toBe(STOPPED)
  // the next start uses the same port
  const next = await start()
  expect(next.url).toBe(url)
  await next.stop()
})

test('a server whose Postgres can’t be restarted gets the reason', async () => {
  const server = await start()
  const [folder, aside] = [path.join(dataDir, 'postgres'), path.join(dataDir, 'aside')]
  const pid = postmaster()
  fs.renameSync(folder, aside)
  try {
    process.kill(pid, 'SIGKILL')
    expect((await server.lost).message).toMatch(/^Postgres did not start: .*No such file or directory/)
    await server.stop()
  } finally {
    fs.renameSync(aside, folder)
  }
})

test('a server that stops without a running Postgres does not wait for it', async () => {
  const server = await start()
  process.kill(postmaster(), 'SIGKILL')
  await server.stop()
  const next = await start()
  await next.stop()
  expect(await refusal(next.url)).toBe(STOPPED)
})

test('a stale pid file with another process’s pid does not block the start', async () => {
  const { uid, gid } = fs.statSync(path.join(dataDir, 'postgres'))
  const bystander = spawn('sleep', ['60'], process.getuid?.() === 0 ? { uid, gid } : {})
  await once(bystander, 'spawn')
  const folder = path.join(dataDir, 'postgres')
  const file = path.join(folder, 'postmaster.pid')
  fs.writeFileSync(file, `${bystander.pid}\n${folder}\n1700000000\n5432\n\n127.0.0.1\n  1 1\nready   \n`)
  fs.chownSync(file, uid, gid)
  // a crash also leaves this file
  const lock = path.join(folder, `.s.PGSQL.${lastPort(folder)}.lock`)
  fs.writeFileSync(lock, `${bystander.pid}\n${folder}\n1700000000\n${lastPort(folder)}\n.\n`)
  fs.chownSync(lock, uid, gid)
  try {
    const server = await start()
    expect(server.started).toBe(true)
    await server.stop()
  } finally {
    bystander.kill()
  }
})

test('every connection needs a password, and a role can enter only its own database', async () => {
  const server = await start()
  try {
    for (const url of [server.url, overTcp(server.url)]) {
      expect(await refusal(withPassword(url, 'postgres', ''))).toMatch(/password/)
      expect(await refusal(withPassword(url, 'postgres', 'guess'))).toBe('28P01')
    }

    await asAdmin(server.url, async (admin) => {
      for (const name of ['one', 'two']) {
        await admin.query(`CREATE ROLE ${name} LOGIN PASSWORD 'pw-${name}'`)
        await admin.query(`CREATE DATABASE ${name} OWNER ${name}`)
      }
    })
    const tcp = overTcp(server.url)
    const asOne = (database: string, url = tcp) => refusal(withPassword(atDatabase(url, database), 'one', 'pw-one'))
    expect(await asOne('one')).toBeNull()
    expect(await asOne('one', server.url), 'by the socket').toBe('28000')
    for (const database of ['two', 'pilothouse', 'postgres', 'template1'])
      expect(await asOne(database), database).toBe('28000')
    // our database stays closed even if the access rules are loosened
    const { rows } = await asAdmin(server.url, (admin) =>
      admin.query(
        `SELECT datname FROM pg_database WHERE has_database_privilege('one', datname, 'CONNECT') AND datname <> 'template0' ORDER BY 1`,
      ),
    )
    expect(rows.map((row) => row.datname)).toEqual(['one', 'two'])
  } finally {
    await server.stop()
  }
})

test('roles can’t use all connections: some are reserved for servers', async () => {
  const server = await start()
  const settings = await asAdmin(server.url, (admin) => admin.query('SHOW superuser_reserved_connections'))
  expect(settings.rows).toEqual([{ superuser_reserved_connections: '50' }])
  await server.stop()
})

test('only the server can read the password, and the log contains no password', async () => {
  const server = await start()
  const role = (password: string) => `CREATE ROLE three LOGIN PASSWORD '${password}'`
  await asAdmin(server.url, async (admin) => {
    await admin.query(role('first-secret'))
    await expect(admin.query(role('second-secret'))).rejects.toThrow('already exists')
  })
  await server.stop()

  const mode = (name: string) => (fs.statSync(path.join(dataDir, name)).mode & 0o777).toString(8)
  expect([mode('.'), mode('postgres-password'), mode('postgres.log')]).toEqual(['711', '600', '600'])
  const log = fs.readFileSync(path.join(dataDir, 'postgres.log'), 'utf8')
  expect(log).toContain('already exists')
  expect(log).not.toContain('secret')
  expect(log).not.toContain(new URL(server.url).password)
})

test('a start reports a wrong setting and a missing or wrong password in one line', async () => {
  await expect(startEmbedded({ dataDir, settings: { max_connections: 'many' } })).rejects.toThrow(
    /Postgres did not start: .*max_connections/,
  )
  const file = path.join(dataDir, 'postgres-password')
  const password = fs.readFileSync(file, 'utf8')
  try {
    fs.writeFileSync(file, 'wrong')
    await expect(start()).rejects.toThrow('does not accept the password')
    fs.rmSync(file)
    await expect(start()).rejects.toThrow('postgres-password is missing')
  } finally {
    fs.writeFileSync(file, password, { mode: 0o600 })
  }
  await (await start()).stop()
})
