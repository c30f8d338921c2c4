/** The server as a process: first start, health, drain on SIGTERM, kill -9, and failing starts with one clear line. */
import { once } from 'node:events'
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { testApp } from '../support/app.ts'
import { asAdmin, type TestDatabase, testDatabase } from '../support/database.ts'
import { gitBody, gitDeployment, imageBody } from '../support/factories.ts'
import { cli, type RunningServer, run, startInVain, startServer, temporaryFolder } from '../support/process.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'
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
  test('the first start prints its URL and the admin key, once and only on stderr', async () => {
    const first = await start()
    expect(first.output.stderr).toContain(`${first.url}/graphql`)
    expect(first.output.stderr).toContain(`${first.url}/docs`)
    const key = first.key!
    expect(first.output.stderr.split(key)).toHaveLength(2)
    expect((await get(`${first.url}/v2/deployments`, key)).status).toBe(200)
    expect((await get(`${first.url}/healthz`)).status).toBe(200)
    expect((await get(`${first.url}/readyz`)).status).toBe(200)

    // a second server on the same folder joins, and the command line too
    const second = await start()
    expect(second.key).toBeUndefined()
    expect((await get(`${second.url}/v2/deployments`, key)).status).toBe(200)
    const made = await cli(['server', 'keys', 'create', '--role', 'viewer', '--name', 'dashboard'], {
      DATA_DIR: folder.path,
    })
    expect(made).toMatchObject({ code: 0 })
    expect((await get(`${first.url}/v2/deployments`, made.stdout.trim())).status).toBe(200)

    // the server that started Postgres stops, the other one continues
    first.child.kill('SIGTERM')
    expect((await first.ended).code).toBe(0)
    expect((await get(`${second.url}/v2/deployments`, key)).status).toBe(200)
    second.child.kill('SIGINT')
    expect((await second.ended).code).toBe(0)

    for (const { output } of [first, second]) {
      const lines = output.stdout.trim().split('\n')
      expect(lines.map((line) => JSON.parse(line).level)).not.toContain('error')
      expect(output.stdout).not.toContain(key)
      expect(output.stdout).not.toContain(made.stdout.trim())
    }
  })

  test.skipIf(process.getuid?.() !== 0)(
    'a umask that closes all to others does not hinder those that root starts',
    async () => {
      const umask = process.umask(0o077)
      const DATA_DIR = path.join(folder.path, 'data')
      const starting = start({ DATA_DIR, WORKER: 'on' })
      process.umask(umask)
      await starting
      const mode = async (name: string) => ((await stat(path.join(DATA_DIR, name))).mode & 0o777).toString(8)
      expect(await Promise.all(['.', 'apps', 'secrets.key', 'workers'].map(mode))).toEqual(['711', '711', '600', '700'])
    },
  )
})

describe('on the data of an earlier start', () => {
  let data: typeof folder
  let key: string
  beforeAll(async () => {
    data = await temporaryFolder()
    const first = await startServer({ DATA_DIR: data.path })
    key = first.key!
    first.child.kill('SIGTERM')
    await first.ended
  })
  afterAll(() => data?.remove())
  const restart = () => start({ DATA_DIR: data.path })
  const files = () => path.join(data.path, 'postgres')
  const postmaster = async () => Number.parseInt(await readFile(path.join(files(), 'postmaster.pid'), 'utf8'), 10)

  test('closing the terminal ends the server with its Postgres', async () => {
    const server = await restart()
    server.child.kill('SIGHUP')
    expect((await server.ended).code).toBe(0)
    expect(await readdir(files())).not.toContain('postmaster.pid')
  })

  test('data survives kill -9', async () => {
    const killed = await restart()
    const made = await fetch(`${killed.url}/v2/deployments`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(imageBody()),
    })
    expect(made.status).toBe(201)
    const { id } = (await made.json()) as { id: string }
    killed.child.kill('SIGKILL')
    await killed.ended
    const next = await restart()
    expect(next.key).toBeUndefined()
    expect((await get(`${next.url}/v2/deployments/${id}`, key)).status).toBe(200)
    next.child.kill('SIGTERM')
    expect((await next.ended).code).toBe(0)
  })

  test('an embedded Postgres that ends unexpectedly is restarted by its server', async () => {
    const server = await restart()
    process.kill(await postmaster(), 'SIGKILL')
    await expect
      .poll(async () => (await get(`${server.url}/v2/deployments`, key)).status, { timeout: 20_000 })
      .toBe(200)
    server.child.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
  })

  // the last one, because it takes the files away
  test('an embedded Postgres that can’t be restarted ends its server with the reason', async () => {
    const server = await restart()
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

  test('SIGTERM lets an open request finish and refuses new ones', async () => {
    const server = await here()
    const open = await halfRequest(server, key)
    server.child.kill('SIGTERM')
    await expect.poll(() => refuses(server.url)).toBe(true)
    const response = await open.finish()
    expect(response.statusCode).toBe(201)
    expect(await server.ended).toMatchObject({ code: 0, signal: null })
  })

  describe('with an agent', () => {
    let repository: AgentRepository
    const env = () => ({
      DATABASE_URL: database.url,
      CONTROL_PLANE_API_KEY: key,
      GIT_DIRECTORY: path.join(folder.path, 'git'),
      WORKER: 'on',
      RUNTIME: 'process',
      APPS_PORT: '0',
      AGENTS_END_WITH_SERVER: 'off',
    })
    const stop = (...options: string[]) => cli(['server', 'stop', ...options], { DATA_DIR: folder.path })
    const leases = () =>
      asAdmin(database.url, async (admin) => {
        const { rows } = await admin.query('SELECT lease_holder FROM deployments')
        return rows.map(({ lease_holder }) => lease_holder as string | null)
      })
    beforeEach(async () => {
      repository = await agentRepository(path.join(folder.path, 'git'), 'agent')
    })
    afterEach(async () => {
      await stop('--agents')
      await repository.remove()
    })

    /** The agent's id and URL, once it serves. */
    async function deployed(server: RunningServer): Promise<{ id: string; address: string }> {
      const integrations = await (await get(`${server.url}/v1/integrations/gitprovider/install`, key)).json()
      const [{ id: integrationId }] = integrations as [{ id: string }]
      const made = await fetch(`${server.url}/v2/deployments`, {
        method: 'POST',
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        body: JSON.stringify(
          gitBody({ integrationId }, { access: 'public', source_config: { repo_url: repository.url } }),
        ),
      })
      const { id } = (await made.json()) as { id: string }
      const addressOf = async () => {
        const body = await (await get(`${server.url}/v2/deployments/${id}`, key)).json()
        const { active_revision_id, url } = body as { active_revision_id: string | null; url: string }
        return active_revision_id && url
      }
      await expect.poll(addressOf, { timeout: 40_000 }).toMatch(/^http/)
      const address = (await addressOf())!
      expect((await get(`${address}/ok`)).status).toBe(200)
      return { id, address }
    }

    test('SIGTERM keeps the agent serving and releases its lease, and the next server takes over; Ctrl-C ends the agent', async () => {
      const server = await start(env())
      const { address } = await deployed(server)
      server.child.kill('SIGTERM')
      expect((await server.ended).code).toBe(0)
      expect(await leases()).toEqual([null])
      expect((await get(`${address}/ok`)).status).toBe(200)

      const next = await start(env())
      await expect.poll(leases, { timeout: 10_000 }).toEqual([expect.stringContaining(`:${next.child.pid}:`)])
      expect((await get(`${address}/ok`)).status).toBe(200)
      next.child.kill('SIGINT')
      expect((await next.ended).code).toBe(0)
      expect(await refuses(address)).toBe(true)
    }, 120_000)

    test('the command line ends the agent, with its server or later, and without the database', async () => {
      const server = await start(env())
      const { id, address } = await deployed(server)
      expect(await stop()).toMatchObject({ code: 0, stdout: `Stopped the server (pid ${server.child.pid})\n` })
      expect((await server.ended).code).toBe(0)
      expect((await get(`${address}/ok`)).status).toBe(200)
      expect(await stop('--agents')).toMatchObject({ code: 0, stdout: `Ended the agent of ${id}\n` })
      expect(await refuses(address)).toBe(true)
      expect((await stop('--agents')).stdout).toBe(`No server or agent of ${folder.path} runs on this machine.\n`)
    }, 120_000)
  })

  test('kept-alive connections do not delay the stop', async () => {
    const server = await here()
    const agent = new http.Agent({ keepAlive: true })
    const request = http.get(`${server.url}/healthz`, { agent })
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.resume()
    await once(response, 'end')
    const signalled = performance.now()
    server.child.kill('SIGTERM')
    expect((await server.ended).code).toBe(0)
    expect(performance.now() - signalled).toBeLessThan(4_000)
    agent.destroy()
  })

  test('a stream of status changes ends cleanly', async () => {
    const server = await here()
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ query: 'subscription { revisionStatusChanged { cursor } }' }),
    })
    expect(response.status).toBe(200)
    const text = response.text()
    server.child.kill('SIGTERM')
    expect(await text).toContain('event: complete')
    expect((await server.ended).code).toBe(0)
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

  test('a signal ends the wait for a database', async () => {
    const DATABASE_URL = 'postgresql://someone:pa55word@127.0.0.1:1/nothing'
    const { child, output, ended } = run('main', [], { DATABASE_URL, DATA_DIR: folder.path, PORT: '0' })
    await expect.poll(() => output.stdout, { timeout: 20_000 }).toContain('the start waits for it')
    expect(output.stdout).not.toContain('pa55word')
    child.kill('SIGTERM')
    expect(await ended).toMatchObject({ code: 0, stderr: '' })
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

  test('for all wrong settings together', async () => {
    expect(await lineOf({ SWEEP_SECONDS: 'soon', WORKER: 'maybe' })).toMatch(
      /^Wrong settings: WORKER must be on or off; SWEEP_SECONDS /,
    )
  })

  test('for a database that can’t be reached, without its password', async () => {
    const DATABASE_URL = 'postgresql://someone:pa55word@127.0.0.1:1/nothing'
    const line = await lineOf({ DATABASE_URL, DATABASE_WAIT_SECONDS: '0' })
    expect(line).toMatch(/^The database can't be used: .*ECONNREFUSED.* See DATABASE_URL\.$/m)
    expect(line).not.toContain('pa55word')
  })

  test('for a wrong database password or a missing database', async () => {
    const database = await testDatabase()
    const url = new URL(database.url)
    url.username = 'nobody_of_that_name'
    url.password = 'pa55word'
    const line = await lineOf({ DATABASE_URL: url.toString() })
    expect(line).toMatch(/^The database can't be used: .* See DATABASE_URL\.$/m)
    expect(line).not.toContain('pa55word')
    const missing = new URL(database.url)
    missing.pathname = '/no_such_database'
    expect(await lineOf({ DATABASE_URL: missing.toString() })).toContain('"no_such_database" does not exist')
    await database.drop()
  })

  test('for a folder that can’t be written', async () => {
    const file = path.join(folder.path, 'a-file')
    await writeFile(file, '')
    expect(await lineOf({ DATA_DIR: path.join(file, 'data') })).toMatch(/^The key file .* can't be used: ENOTDIR/)
    const DATA_DIR = path.join(folder.path, 'data')
    await mkdir(DATA_DIR)
    await writeFile(path.join(DATA_DIR, 'postgres-password'), '')
    await mkdir(path.join(DATA_DIR, 'postgres'))
    expect(await lineOf({ DATA_DIR })).toMatch(/^The embedded Postgres in .* can't be used: /)
  })

  test('for a host name that has no address, or a folder that is a file', async () => {
    const database = await testDatabase()
    const env = { DATABASE_URL: database.url, CONTROL_PLANE_API_KEY: 'an-operators-own-key' }
    expect(await lineOf({ ...env, HOST: 'nowhere.invalid' })).toMatch(/^No address is known for nowhere.invalid .*HOST/)
    const GIT_DIRECTORY = path.join(folder.path, 'a-git-file')
    await writeFile(GIT_DIRECTORY, '')
    expect(await lineOf({ ...env, GIT_DIRECTORY })).toMatch(/^The folder of GIT_DIRECTORY can't be used: EEXIST/)
    await database.drop()
  })

  test('for an account that builds and agents can’t have', async () => {
    if (process.getuid?.() !== 0) return
    const database = await testDatabase()
    const env = {
      DATABASE_URL: database.url,
      RUNTIME: 'process',
      WORKER: 'on',
      CONTROL_PLANE_API_KEY: 'an-operators-own-key',
    }
    const { code, stderr } = await startInVain({ DATA_DIR: folder.path, ...env, APP_USER: 'no_such_account' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The process runtime can't be used: The account no_such_account .*\n$/)
    await database.drop()
  })

  test('for a port that is in use', async () => {
    const database = await testDatabase()
    const other = net.createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as net.AddressInfo
    const says = `Port ${port} of 127.0.0.1 is in use: stop what uses it, or set PORT.\n`
    const env = { DATABASE_URL: database.url, PORT: String(port), DATA_DIR: folder.path }
    // the first start created a key, which must not be lost
    const first = await startInVain(env)
    expect(first).toMatchObject({ code: 1, stderr: expect.stringMatching(/Admin key +cpk_/) })
    expect(first.stderr.endsWith(says)).toBe(true)
    expect(await lineOf(env)).toBe(says)
    other.close()
    await database.drop()
  })
})
