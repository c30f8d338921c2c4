/** The server as a process: first start, health, drain on SIGTERM, kill -9, and failing starts with one clear line. */
import { once } from 'node:events'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type App, buildApp } from '../../src/app/app.ts'
import { exitMessage } from '../../src/app/exit-message.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { testApp } from '../support/app.ts'
import { asAdmin, type TestDatabase, testDatabase, useDatabase } from '../support/database.ts'
import { gitBody, gitDeployment, imageBody } from '../support/factories.ts'
import { cli, type RunningServer, run, startInVain, startServer, temporaryFolder } from '../support/process.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'
import { restOf } from '../support/rest-of.ts'
import { tcpProxy } from '../support/tcp-proxy.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let servers: RunningServer[]
// every test here starts processes
vi.setConfig({ testTimeout: 60_000 })
beforeEach(async () => {
  folder = await temporaryFolder()
  servers = []
})
afterEach(async () => {
  for (const { child, ended } of servers) {
    child.kill('SIGTERM')
    await ended
  }
  await folder.remove()
})

async function start(env: Record<string, string> = {}): Promise<RunningServer> {
  const server = await startServer({ DATA_DIR: folder.path, ...env })
  servers.push(server)
  return server
}

const get = async (url: string, key?: string) => fetch(url, { headers: key === undefined ? {} : { 'x-api-key': key } })

/** A POST with half of its body sent; it stays open until the rest is sent. */
async function halfRequest(server: RunningServer, key: string) {
  const body = JSON.stringify(imageBody())
  const request = http.request(`${server.url}/v2/deployments`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
  })
  request.on('error', () => {})
  request.write(body.slice(0, 10))
  // another request was answered, so this earlier one has arrived
  await get(`${server.url}/healthz`)
  return {
    async finish() {
      const answered = once(request, 'response') as Promise<[http.IncomingMessage]>
      request.end(body.slice(10))
      const [response] = await answered
      response.resume()
      return response
    },
  }
}

/** Whether no program accepts connections there any more. */
async function refuses(url: string): Promise<boolean> {
  const { port, hostname } = new URL(url)
  const socket = net.connect(Number(port), hostname)
  return new Promise((resolve) => {
    socket.on('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.on('error', () => resolve(true))
  })
}

describe('with a Postgres of its own', () => {
  let data: typeof folder
  let server: RunningServer
  let key: string
  const startOn = () => startServer({ DATA_DIR: path.join(data.path, 'data'), WORKER: 'on', RUNTIME: 'process' })
  beforeAll(async () => {
    data = await temporaryFolder()
    const umask = process.umask(0o077)
    const starting = startOn()
    process.umask(umask)
    server = await starting
    key = server.key!
  })
  afterAll(async () => {
    server?.child.kill('SIGKILL')
    await server?.ended
    await data?.remove()
  })
  const files = () => path.join(data.path, 'data/postgres')
  const postmaster = async () => Number.parseInt(await readFile(path.join(files(), 'postmaster.pid'), 'utf8'), 10)

  test.skipIf(process.getuid?.() !== 0)(
    'a umask that closes all to others does not hinder those that root starts',
    async () => {
      const mode = async (name: string) => ((await stat(path.join(data.path, 'data', name))).mode & 0o777).toString(8)
      expect(await Promise.all(['.', 'apps', 'secrets.key', 'workers'].map(mode))).toEqual(['711', '711', '600', '700'])
    },
  )

  test('the first start prints its URL and the admin key, once and only on stderr', async () => {
    const first = server
    expect(first.output.stderr).toContain(`${first.url}/graphql`)
    expect(first.output.stderr).toContain(`${first.url}/docs`)
    expect(first.output.stderr.split(key)).toHaveLength(2)
    expect((await get(`${first.url}/v2/deployments`, key)).status).toBe(200)
    expect((await get(`${first.url}/healthz`)).status).toBe(200)
    expect((await get(`${first.url}/readyz`)).status).toBe(200)

    // a second server on the same folder joins, and the command line too
    server = await startOn()
    expect(server.key).toBeUndefined()
    expect((await get(`${server.url}/v2/deployments`, key)).status).toBe(200)
    const made = await cli(['server', 'keys', 'create', '--role', 'viewer', '--name', 'dashboard'], {
      DATA_DIR: path.join(data.path, 'data'),
    })
    expect(made).toMatchObject({ code: 0 })
    expect((await get(`${first.url}/v2/deployments`, made.stdout.trim())).status).toBe(200)

    // the server that started Postgres stops, the other one continues
    first.child.kill('SIGTERM')
    expect((await first.ended).code).toBe(0)
    expect((await get(`${server.url}/v2/deployments`, key)).status).toBe(200)

    for (const { output } of [first, server]) {
      const lines = output.stdout.trim().split('\n')
      expect(lines.map((line) => JSON.parse(line).level)).not.toContain('error')
      expect(output.stdout).not.toContain(key)
      expect(output.stdout).not.toContain(made.stdout.trim())
    }
  })

  test('an embedded Postgres that ends unexpectedly is restarted by its server', async () => {
    const before = await postmaster()
    process.kill(before, 'SIGKILL')
    await expect.poll(() => postmaster().catch(() => before), { timeout: 20_000 }).not.toBe(before)
    await expect.poll(async () => (await get(`${server.url}/readyz`)).status, { timeout: 20_000 }).toBe(200)
  })

  test('closing the terminal ends the server with its Postgres', async () => {
    server.child.kill('SIGHUP')
    expect((await server.ended).code).toBe(0)
    expect(await readdir(files())).not.toContain('postmaster.pid')
    server = await startOn()
  })

  // the last one, because it takes the files away
  test('an embedded Postgres that can’t be restarted ends its server with the reason', async () => {
    const pid = await postmaster()
    await rename(files(), `${files()}.gone`)
    process.kill(pid, 'SIGKILL')
    const { code, stderr } = await server.ended
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The embedded Postgres in .* can't be used: Postgres did not start: /m)
  })
})

describe('on a database', () => {
  const key = 'the-operators-own-admin-key'
  let database: TestDatabase
  beforeEach(async () => {
    database = await testDatabase()
  })
  afterEach(async () => {
    for (const { child, ended } of servers) {
      child.kill('SIGKILL')
      await ended
    }
    await database.drop()
  })
  const here = () => start({ DATABASE_URL: database.url, CONTROL_PLANE_API_KEY: key })

  test('SIGTERM lets an open request finish, ends streams and kept-alive connections, and refuses new requests', async () => {
    const server = await here()
    const open = await halfRequest(server, key)
    const stream = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: 'subscription { revisionStatusChanged { cursor } }' }),
    })
    expect(stream.status).toBe(200)
    const text = stream.text()
    const agent = new http.Agent({ keepAlive: true })
    const [response] = (await once(http.get(`${server.url}/healthz`, { agent }), 'response')) as [http.IncomingMessage]
    response.resume()
    await once(response, 'end')
    server.child.kill('SIGTERM')
    await expect.poll(() => refuses(server.url)).toBe(true)
    expect(await text).toContain('event: complete')
    expect((await open.finish()).statusCode).toBe(201)
    const finished = performance.now()
    expect(await server.ended).toMatchObject({ code: 0, signal: null })
    expect(performance.now() - finished).toBeLessThan(4_000)
    agent.destroy()
  })

  describe('with an agent', () => {
    let repository: AgentRepository
    beforeEach(async () => {
      repository = await agentRepository(path.join(folder.path, 'git'), 'agent')
    })
    afterEach(async () => {
      await stop('--agents')
      await repository.remove()
    })
    const stop = (...options: string[]) => cli(['server', 'stop', ...options], { DATA_DIR: folder.path })
    const startWithAgents = () =>
      start({
        DATABASE_URL: database.url,
        CONTROL_PLANE_API_KEY: key,
        GIT_DIRECTORY: path.join(folder.path, 'git'),
        WORKER: 'on',
        RUNTIME: 'process',
        APPS_PORT: '0',
        AGENTS_END_WITH_SERVER: 'off',
      })
    const leases = () =>
      asAdmin(database.url, async (admin) => {
        const { rows } = await admin.query('SELECT lease_holder FROM deployments')
        return rows.map(({ lease_holder }) => lease_holder as string | null)
      })

    test('SIGTERM and the command line stop a server and keep its agent; the next server takes over; Ctrl-C or --agents end the agent', async () => {
      const first = await startWithAgents()
      const rest = restOf(() => servers.at(-1)!.url, key)
      const [{ id: integrationId }] = await rest('GET', '/v1/integrations/gitprovider/install')
      const body = gitBody({ integrationId }, { access: 'public', source_config: { repo_url: repository.url } })
      const { id } = await rest('POST', '/v2/deployments', body)
      /** The agent's URL, once it serves. */
      const serving = async () => {
        const urlOf = async () => (await rest('GET', `/v2/deployments/${id}`)).url as string
        const answer = async () => (await fetch(`${await urlOf()}/ok`).catch(() => null))?.status
        await expect.poll(answer, { timeout: 40_000 }).toBe(200)
        return urlOf()
      }
      const answers = async (url: string) => expect((await get(`${url}/ok`)).status).toBe(200)

      const address = await serving()
      await answers(address)
      first.child.kill('SIGTERM')
      expect((await first.ended).code).toBe(0)
      expect(await leases()).toEqual([null])
      await answers(address)

      const second = await startWithAgents()
      await expect.poll(leases, { timeout: 10_000 }).toEqual([expect.stringContaining(`:${second.child.pid}:`)])
      await answers(address)
      second.child.kill('SIGINT')
      expect((await second.ended).code).toBe(0)
      expect(await refuses(address)).toBe(true)

      const third = await startWithAgents()
      const next = await serving()
      await answers(next)
      expect(await stop()).toMatchObject({ code: 0, stdout: `Stopped the server (pid ${third.child.pid})\n` })
      expect((await third.ended).code).toBe(0)
      await answers(next)
      // without a server and its database
      expect(await stop('--agents')).toMatchObject({ code: 0, stdout: `Ended the agent of ${id}\n` })
      expect(await refuses(next)).toBe(true)
      expect((await stop('--agents')).stdout).toBe(`No server or agent of ${folder.path} runs on this machine.\n`)
    }, 120_000)
  })

  test('a second signal ends the server immediately', async () => {
    const server = await here()
    await halfRequest(server, key)
    server.child.kill('SIGTERM')
    // two signals in quick succession count as one Ctrl-C (npm forwards it), so the test repeats it
    const insist = setInterval(() => server.child.kill('SIGTERM'), 300)
    const signalled = performance.now()
    expect(await server.ended).toMatchObject({ code: 1, signal: null })
    clearInterval(insist)
    expect(performance.now() - signalled).toBeLessThan(6_000)
  })

  test('an endless request is cut off, and the server still stops cleanly', async () => {
    const server = await here()
    await halfRequest(server, key)
    const signalled = performance.now()
    server.child.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
    expect(performance.now() - signalled).toBeLessThan(10_000)
  })

  test('a signal during the start ends the server', async () => {
    const env = { DATABASE_URL: database.url, DATA_DIR: folder.path, PORT: '0', WORKER: 'off' }
    const running = run('main', [], env)
    // the first file that the start creates after it handles signals
    await expect.poll(() => readdir(folder.path), { interval: 5, timeout: 20_000 }).toContain('secrets.key')
    running.child.kill('SIGTERM')
    expect((await running.ended).code).toBe(0)
  })

  test('a signal ends a start that waits for its database', async () => {
    const mute = net.createServer().listen(0, '127.0.0.1')
    const connected = once(mute, 'connection')
    await once(mute, 'listening')
    const { port } = mute.address() as net.AddressInfo
    const env = { DATABASE_URL: `postgresql://u:p@127.0.0.1:${port}/d`, DATA_DIR: folder.path, PORT: '0' }
    const { child, ended } = run('main', [], env)
    await connected
    const signalled = performance.now()
    child.kill('SIGTERM')
    expect((await ended).code).toBe(1)
    // limit 10 s; without the signal it would wait 30 s
    expect(performance.now() - signalled).toBeLessThan(20_000)
    mute.close()
  })

  test('a start waits for an unavailable database and continues when it is available', async () => {
    const proxy = await tcpProxy(database.url)
    proxy.away(true)
    const env = { DATABASE_URL: proxy.url, DATA_DIR: folder.path, PORT: '0', WORKER: 'off' }
    const { child, output, ended } = run('main', [], env)
    await expect
      .poll(() => output.stdout, { timeout: 20_000 })
      .toContain('the database is unavailable: the start waits for it')
    proxy.away(false)
    await expect.poll(() => output.stderr, { timeout: 20_000 }).toContain('Pilothouse   http://')
    // one line a minute
    expect(output.stdout.split('the start waits')).toHaveLength(2)
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
    proxy.close()
  })

  test('a server is ready while the database answers, and alive without it', async () => {
    const app = await testApp()
    expect((await app.rest('GET', '/readyz', { key: null })).status).toBe(200)
    await gitDeployment(app)
    const metrics = await app.rest('GET', '/metrics', { key: null })
    expect(metrics.text).toContain('pilothouse_revision_transitions_total{status="CREATING",reason="none"} 1')
    expect(metrics.text).toContain('http_request_duration_seconds_count{method="GET",route="/readyz",status="200"} 1')
    await app.dropDatabase()
    const answer = await app.rest('GET', '/readyz', { key: null })
    expect(answer.status).toBe(503)
    expect(answer.body).toEqual({ status: 'not ready', reason: 'the database does not answer' })
    expect((await app.rest('GET', '/healthz', { key: null })).status).toBe(200)
    await app.close()
  })
})

describe('a start that can’t succeed says why in one line', () => {
  const lineOf = async (env: Record<string, string>) => {
    const { code, stderr, stdout } = await startInVain({ DATA_DIR: folder.path, ...env })
    expect(code).toBe(1)
    expect(stdout).toBe('')
    expect(stderr.trim().split('\n')).toHaveLength(1)
    return stderr
  }
  /** The same line, without a process. */
  const reasonOf = async (env: Record<string, string>) => {
    const settings = { DATA_DIR: folder.path, PORT: '0', APPS_PORT: '0', WORKER: 'off', LOG_LEVEL: 'silent', ...env }
    let app: App | null = null
    try {
      app = await buildApp(readConfig(settings))
      await app.start()
    } catch (error) {
      return exitMessage(error)
    } finally {
      await app?.close()
    }
    return expect.unreachable()
  }

  test('for all wrong settings together', async () => {
    expect(await lineOf({ SWEEP_SECONDS: 'soon', WORKER: 'maybe' })).toMatch(
      /^Wrong settings: WORKER must be on or off; SWEEP_SECONDS /,
    )
  })

  test('for a database that can’t be reached, without its password', async () => {
    const DATABASE_URL = 'postgresql://someone:pa55word@127.0.0.1:1/nothing'
    const line = await reasonOf({ DATABASE_URL, DATABASE_WAIT_SECONDS: '0' })
    expect(line).toMatch(/^The database can't be used: .*ECONNREFUSED.* See DATABASE_URL\.$/)
    expect(line).not.toContain('pa55word')
  })

  test('for a folder that can’t be written', async () => {
    const file = path.join(folder.path, 'a-file')
    await writeFile(file, '')
    expect(await reasonOf({ DATA_DIR: path.join(file, 'data') })).toMatch(/^The key file .* can't be used: ENOTDIR/)
    const DATA_DIR = path.join(folder.path, 'data')
    await mkdir(DATA_DIR)
    await writeFile(path.join(DATA_DIR, 'postgres-password'), '')
    await mkdir(path.join(DATA_DIR, 'postgres'))
    expect(await reasonOf({ DATA_DIR })).toMatch(/^The embedded Postgres in .* can't be used: /)
  })

  describe('on a database:', () => {
    const database = useDatabase()
    const SECRETS_KEYS = `k:${Buffer.alloc(32, 4).toString('base64')}`
    const env = () => ({ DATABASE_URL: database.url, SECRETS_KEYS })

    test('for a wrong database password or a missing database', async () => {
      const url = new URL(database.url)
      url.username = 'nobody_of_that_name'
      url.password = 'pa55word'
      const line = await reasonOf({ DATABASE_URL: url.toString() })
      expect(line).toMatch(/^The database can't be used: .* See DATABASE_URL\.$/)
      expect(line).not.toContain('pa55word')
      const missing = new URL(database.url)
      missing.pathname = '/no_such_database'
      expect(await reasonOf({ DATABASE_URL: missing.toString() })).toContain('"no_such_database" does not exist')
    })

    test('for a port that is in use', async () => {
      const other = net.createServer().listen(0, '127.0.0.1')
      await once(other, 'listening')
      const { port } = other.address() as net.AddressInfo
      const says = `Port ${port} of 127.0.0.1 is in use: stop what uses it, or set PORT.\n`
      const taken = { ...env(), PORT: String(port), DATA_DIR: folder.path }
      // the first start created a key, which must not be lost
      const first = await startInVain(taken)
      expect(first).toMatchObject({ code: 1, stderr: expect.stringMatching(/Admin key +cpk_/) })
      expect(first.stderr.endsWith(says)).toBe(true)
      expect(await lineOf(taken)).toBe(says)
      other.close()
    })

    test('for a host name that has no address, or a folder that is a file', async () => {
      const host = await reasonOf({ ...env(), HOST: 'nowhere.invalid' })
      expect(host).toMatch(/^No address is known for nowhere.invalid .*HOST/)
      const GIT_DIRECTORY = path.join(folder.path, 'a-git-file')
      await writeFile(GIT_DIRECTORY, '')
      expect(await reasonOf({ ...env(), GIT_DIRECTORY })).toMatch(/^The folder of GIT_DIRECTORY can't be used: EEXIST/)
    })

    test.skipIf(process.getuid?.() !== 0)('for an account that builds and agents can’t have', async () => {
      const agents = { RUNTIME: 'process', WORKER: 'on', APP_USER: 'no_such_account' }
      expect(await reasonOf({ ...env(), ...agents })).toMatch(
        /^The process runtime can't be used: The account no_such_account .*$/,
      )
    })
  })
})
