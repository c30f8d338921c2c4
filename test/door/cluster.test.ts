// The door of a cluster: two real doors, a real server, and agents in place of Services.
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type TestDatabase, testDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { cli, type Running, type RunningServer, run, startServer, temporaryFolder } from '../support/process.ts'
import { restOf } from '../support/rest-of.ts'
import { serviceAddress } from './service-address.ts'

vi.setConfig({ testTimeout: 30_000, hookTimeout: 60_000 })

const KEY = 'cpk_admin_key_of_the_cluster'
const TOKEN = 'token-of-all-doors-of-this-cluster'
const IMAGE = { source: 'external_container', source_revision_config: { image_uri: 'registry.example.com/agent:1' } }

interface Door extends Running {
  port: number
  health: string
  env: Record<string, string>
}

let database: TestDatabase
let dataDir: { path: string; remove(): Promise<void> }
let server: RunningServer
let publicPort: number
let agentPort: number
/** the listener of another cluster */
let elsewhere = ''
const doors: Door[] = []
const agents = http.createServer()
const folders: { remove(): Promise<void> }[] = []
/** a deployment that got 10 requests at each door */
let busy: string
let endStreams = () => {}
const finish = new Promise<void>((resolve) => {
  endStreams = resolve
})

const rest = restOf(() => server.url, KEY)

const settings = () => ({
  DATABASE_URL: database.url,
  DATA_DIR: dataDir.path,
  SECRETS_KEYS: `k:${Buffer.alloc(32, 1).toString('base64')}`,
  RUNTIME: 'kubernetes',
  K8S_NAMESPACE: 'agents',
  APPS_URL: 'https://{name}.apps.example.com',
  DOOR_TOKEN: TOKEN,
  DOOR_SERVICE: 'door.pilothouse.svc.cluster.local:80',
  DOOR_LISTENERS: elsewhere,
})

async function startCluster(port: number): Promise<RunningServer> {
  return startServer({ ...settings(), CONTROL_PLANE_API_KEY: KEY, PORT: String(port), LOG_LEVEL: 'warn' })
}

/** The agents of all deployments. They answer with the address that was called, and the request's headers. */
async function startAgents(): Promise<number> {
  agents.on('request', (request, response) => {
    const address = request.socket.localAddress
    if (request.url !== '/stream') return void response.end(JSON.stringify({ address, headers: request.headers }))
    response.write('first ')
    void finish.then(() => response.end('last'))
  })
  await once(agents.listen(0, '0.0.0.0'), 'listening')
  return (agents.address() as AddressInfo).port
}

async function startDoor(env: Record<string, string>): Promise<Door> {
  const started = run('test/door/cluster-door-program.ts', [], env)
  const [line] = (await Promise.race([once(started.child.stdout!, 'data'), started.ended])) as [string]
  const health = `http://127.0.0.1:${JSON.parse(line.split('\n')[0]!).healthPort}`
  return { ...started, port: Number(env.DOOR_PORT), health, env }
}

/** `settings`: of a door in another cluster */
async function newDoor(settings: Record<string, string> = {}): Promise<Door> {
  const folder = await temporaryFolder()
  folders.push(folder)
  return startDoor({
    CONTROL_PLANE_URL: `http://127.0.0.1:${publicPort}`,
    DOOR_TOKEN: TOKEN,
    DOOR_HOST: '127.0.0.1',
    DOOR_PORT: String(await freePort()),
    DOOR_HEALTH_PORT: '0',
    DATA_DIR: folder.path,
    AGENT_PORT: String(agentPort),
    APPS_ACCESS_LOG: '/dev/stdout',
    ...settings,
  })
}

const create = (name: string, access = 'workspace', source_config: object = {}) =>
  rest('POST', '/v2/deployments', { ...IMAGE, name, access, source_config, secrets: [] })

async function sql(text: string, values: unknown[]): Promise<void> {
  const client = new pg.Client(database.url)
  await client.connect()
  await client.query(text, values)
  await client.end()
}

/** The sums of the series of a deployment in the last hour. */
async function sumsOf(id: string): Promise<Record<string, number>> {
  const { series } = await rest('GET', `/v2/deployments/${id}/metrics?names=requests,errors,bytes_sent,latency_p95`)
  const sum = (points: [number, number][]) => points.reduce((all, [, value]) => all + value, 0)
  return Object.fromEntries(series.map(({ name, points }: { name: string; points: [] }) => [name, sum(points)]))
}

const post = (path: string, token: string, body: unknown) =>
  fetch(`${server.url}/internal/door${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

interface Answer {
  status: number
  body: { address?: string; headers?: Record<string, string> }
}

/** Calls an agent by its name, or by a whole host, at a door. */
async function call(door: Pick<Door, 'port'>, name: string, headers: Record<string, string> = {}): Promise<Answer> {
  const host = name.includes('.') ? name : `${name}.apps.example.com`
  const request = http.get({ port: door.port, host: '127.0.0.1', headers: { host, ...headers }, agent: false })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const text = (await response.setEncoding('utf8').toArray()).join('')
  return { status: response.statusCode!, body: text.startsWith('{') ? JSON.parse(text) : {} }
}
const statusOf = (door: Door, name: string, key?: string) =>
  call(door, name, key ? { 'x-api-key': key } : {}).then(
    ({ status }) => status,
    (error: NodeJS.ErrnoException) => error.code,
  )
const isReady = (door: Door) => fetch(`${door.health}/readyz`).then(({ status }) => status)

beforeAll(async () => {
  database = await testDatabase()
  dataDir = await temporaryFolder()
  publicPort = await freePort()
  agentPort = await startAgents()
  for (let i = 0; i < 2; i++) doors.push(await newDoor())
  // a door that has never heard from a server must not serve
  expect(await isReady(doors[0]!)).toBe(503)
  server = await startCluster(publicPort)
})
afterAll(async () => {
  for (const { child } of [...doors, server]) child?.kill('SIGKILL')
  await Promise.all([...doors, server].map((one) => one?.ended))
  agents.close()
  await Promise.all([...folders, dataDir].map((folder) => folder.remove()))
  await database?.drop()
})

test('every door leads to the deployments of the cluster, and lets in only callers with a right to them', async () => {
  busy = (await create('Busy', 'public')).id
  await sql('UPDATE deployments SET active_revision_id = latest_revision_id WHERE id = $1', [busy])
  const red = await create('Red')
  const blue = await create('Blue', 'public')
  for (const door of doors) {
    await expect.poll(() => statusOf(door, 'red', KEY), { timeout: 10_000 }).toBe(200)
    expect(await isReady(door)).toBe(200)
    expect(await statusOf(door, 'red')).toBe(401)
    expect(await statusOf(door, 'unknown')).toBe(401)
    await expect.poll(() => statusOf(door, 'blue'), { timeout: 10_000 }).toBe(200)
    expect((await call(door, 'blue')).body.address).toBe(serviceAddress(blue.id))
    for (let i = 0; i < 10; i++) await call(door, 'busy')
    const { body } = await call(door, 'red', { authorization: `Bearer ${KEY}`, 'x-pilothouse-caller': 'forged' })
    expect(body.address).toBe(serviceAddress(red.id))
    expect(JSON.stringify(body)).not.toContain(KEY)
    const keys = createRemoteJWKSet(new URL(`${server.url}/.well-known/jwks.json`))
    const { payload } = await jwtVerify(body.headers!['x-pilothouse-caller']!, keys, { audience: red.id })
    expect(payload).toMatchObject({ deployment: red.id, role: 'admin' })
  }
  const set = (await (await fetch(`${server.url}/.well-known/jwks.json`)).json()) as { keys: object[] }
  expect(set.keys).toHaveLength(1)
})

test('the host of a custom_url leads to its deployment, for callers with a right to it', async () => {
  const bot = await create('Bot', 'workspace', { custom_url: 'https://bot.example.com' })
  for (const door of doors) {
    await expect.poll(() => statusOf(door, 'bot.example.com', KEY), { timeout: 10_000 }).toBe(200)
    expect((await call(door, 'bot.example.com', { 'x-api-key': KEY })).body.address).toBe(serviceAddress(bot.id))
    expect(await statusOf(door, 'bot.example.com')).toBe(401)
  }
})

test('a deployment from before the door is served under the name that a command gives it', async () => {
  const old = await create('From before', 'public')
  await sql('UPDATE deployments SET address_name = NULL WHERE id = $1', [old.id])
  await expect.poll(() => statusOf(doors[0]!, 'from-before'), { timeout: 10_000 }).toBe(401)
  const { code, stdout, stderr } = await cli(['server', 'addresses', 'name', '--all', '--json'], settings())
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout).deployments).toEqual([{ id: old.id, name: 'From before', address_name: 'from-before' }])
  for (const door of doors) await expect.poll(() => statusOf(door, 'from-before'), { timeout: 10_000 }).toBe(200)
})

test('a door logs requests to its standard output', async () => {
  await call(doors[0]!, 'blue', { 'x-request-id': 'logged' })
  const lines = () => doors[0]!.output.stdout.split('\n').filter((line) => line.includes('"logged"'))
  await expect.poll(lines).toHaveLength(1)
  const line = { status: 200, host: 'blue.apps.example.com', deployment_name: 'blue', revision_id: null }
  expect(JSON.parse(lines()[0]!)).toMatchObject(line)
})

test('a door counts requests for its metrics, of deployments that got some', async () => {
  const { id } = await create('Quiet')
  const text = await (await fetch(`${doors[0]!.health}/metrics`)).text()
  expect(text).not.toContain(id)
  expect(text).toMatch(
    /pilothouse_agent_requests_total\{status="2xx",deployment="[0-9a-f-]+",workspace="[0-9a-f-]+"\} [1-9]/,
  )
})

test('a revoked key is refused by every door within 5 seconds', async () => {
  const { key, api_key } = await rest('POST', '/v2/keys', { name: 'calls', role: 'caller' })
  for (const door of doors) await expect.poll(() => statusOf(door, 'red', key), { timeout: 5000 }).toBe(200)
  await rest('DELETE', `/v2/keys/${api_key.id}`)
  await expect
    .poll(() => Promise.all(doors.map((door) => statusOf(door, 'red', key))), { timeout: 5000, interval: 100 })
    .toEqual([401, 401])
})

test('doors send what they counted to the server, which adds it up', { timeout: 60_000 }, async () => {
  await expect.poll(() => sumsOf(busy), { timeout: 40_000 }).toMatchObject({ requests: 20, errors: 0 })
  const { bytes_sent: sent, latency_p95: latency } = await sumsOf(busy)
  expect(sent).toBeGreaterThan(20 * 100)
  expect(latency).toBeGreaterThan(0)
})

test('doors serve without a server, also after a restart, and follow the next server', async () => {
  server.child.kill('SIGKILL')
  await server.ended
  const [kept, restarted] = doors as [Door, Door]
  restarted.child.kill('SIGKILL')
  await restarted.ended
  doors[1] = await startDoor(restarted.env)
  for (const door of [kept, doors[1]]) {
    await expect.poll(() => statusOf(door, 'red', KEY)).toBe(200)
    expect(await statusOf(door, 'red')).toBe(401)
    expect(await isReady(door)).toBe(200)
  }
  server = await startCluster(publicPort)
  await create('Later', 'public')
  for (const door of [kept, doors[1]])
    await expect.poll(() => statusOf(door, 'later'), { timeout: 10_000, interval: 100 }).toBe(200)
})

test('a door of another cluster serves only the deployments there, at the addresses of its cluster', async () => {
  elsewhere = (
    await rest('POST', '/v2/listeners', {
      compute_type: 'k8s',
      compute_id: 'us',
      compute_config: { k8s_namespaces: ['agents'] },
    })
  ).id
  server.child.kill('SIGKILL')
  await server.ended
  server = await startCluster(publicPort)
  const there = await create('There', 'workspace', { listener_id: elsewhere })
  const door = await newDoor({ DOOR_LISTENERS: elsewhere, APPS_URL: 'https://{name}.us.example.com' })
  doors.unshift(door)
  await expect.poll(() => statusOf(door, 'there.us.example.com', KEY), { timeout: 10_000 }).toBe(200)
  expect((await call(door, 'there.us.example.com', { 'x-api-key': KEY })).body.address).toBe(serviceAddress(there.id))
  expect(await statusOf(door, 'there.us.example.com')).toBe(401)
  const unknown = await statusOf(door, 'unknown.us.example.com', KEY)
  for (const host of ['blue.us.example.com', 'blue.apps.example.com', 'there.apps.example.com'])
    expect(await statusOf(door, host, KEY)).toBe(unknown)
  expect(await statusOf(doors[1]!, 'blue')).toBe(200)
})

test('a door that ends completes its requests, and accepts no more', async () => {
  const door = doors.pop()!
  const stream = http.get({
    ...{ port: door.port, host: '127.0.0.1', path: '/stream', agent: false },
    headers: { host: 'blue.apps.example.com' },
  })
  const [response] = (await once(stream, 'response')) as [http.IncomingMessage]
  door.child.kill('SIGTERM')
  await expect.poll(() => statusOf(door, 'blue')).toBe('ECONNREFUSED')
  endStreams()
  expect((await response.setEncoding('utf8').toArray()).join('')).toBe('first last')
  expect(await door.ended).toMatchObject({ code: 0 })
})

test('the stream of news needs the token of the doors', async () => {
  const open = async (token: string) => (await post('', token, { known: null })).status
  for (const token of ['', KEY, `${TOKEN}x`]) expect(await open(token)).toBe(401)
  expect(await open(TOKEN)).toBe(400)
})

test('a door reports samples with its token, only of deployments that it may serve', async () => {
  const { id: listener_id } = await rest('POST', '/v2/listeners', {
    ...{ compute_type: 'k8s', compute_id: 'eu', compute_config: { k8s_namespaces: ['agents'] } },
  })
  const own = await create('Own', 'workspace', { listener_id: elsewhere })
  const others = await create('Others', 'public', { listener_id })
  await sql('UPDATE deployments SET active_revision_id = latest_revision_id WHERE id = ANY ($1)', [[own.id, others.id]])
  const start = new Date(Math.floor(Date.now() / 10_000 - 3) * 10_000).toISOString()
  const samples = [own, others].map(({ id }) => ({ deployment_id: id, start, measures: { requests_2xx: 5 } }))
  const report = async (process_number: unknown, token = TOKEN) =>
    (await post('/metrics', token, { process_number, samples })).status
  expect(await report(1, KEY)).toBe(401)
  expect(await report('one')).toBe(422)
  // the second door's samples of the same moment count, and a repetition does not
  expect(await Promise.all([1, 2, 2].map((each) => report(each)))).toEqual([204, 204, 204])
  expect(await sumsOf(own.id)).toEqual({ requests: 10 })
  expect(await sumsOf(others.id)).toEqual({})
})
