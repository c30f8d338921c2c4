// The door with real keepers and agents: how it starts, is replaced and ends.
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { connectToDoor, type DoorConnection, publishSocket } from '../../src/dataplane/process/door/door-connection.ts'
import { DoorLink } from '../../src/dataplane/process/door/door-link.ts'
import { ServerLink } from '../../src/dataplane/process/door/server-link.ts'
import { startDoor, updateDoor } from '../../src/dataplane/process/door/start-door.ts'
import { Address } from '../../src/door/address.ts'
import { requestHealth } from '../../src/door/health.ts'
import { alive } from '../dataplane/support.ts'
import { doorPidIn, get, gone, newSupervisor, planOf, type Supervised, serve } from '../supervisor/support.ts'
import { FIRST_CERTIFICATE as certificate } from '../support/certificates.ts'
import { freePort } from '../support/free-port.ts'
import { needsRoot } from '../support/root.ts'
import { getOverTls } from '../support/tls.ts'
import { openListeners } from './support.ts'

const open: Supervised[] = []
afterEach(async () => {
  // the one whose door the others use comes last
  for (const supervised of open.splice(0)) await supervised.remove()
})

/** A supervisor whose agent serves. `like`: shares the door of that one. */
async function serving(text: string, { source, like }: { source?: string; like?: Supervised } = {}) {
  const supervised = await newSupervisor(like ? { door: like.config.door } : {})
  open.unshift(supervised)
  await supervised.start()
  const server = await supervised.connect()
  return {
    supervised,
    server,
    url: await serve(supervised, server, planOf(supervised, text, { ...(source && { source }) })),
  }
}

/** Answers with its text. Streams at /events until /end is requested. Echoes WebSockets. */
const STREAMING = `
import http from 'node:http'
import { WebSocketServer } from '${import.meta.resolve('ws')}'
const streams = new Set()
const server = http.createServer((req, res) => {
  if (req.url === '/events') { res.write('first '); return streams.add(res) }
  if (req.url === '/end') for (const stream of streams) stream.end('last')
  req.resume().on('end', () => res.end(process.env.TEXT))
})
new WebSocketServer({ server }).on('connection', (socket) => socket.on('message', (text) => socket.send(String(text))))
server.listen(process.env.PORT, '127.0.0.1')
`

/** Another version of the door's program. */
function newerVersion({ config: { door } }: Supervised, text = fs.readFileSync(door.file, 'utf8')) {
  const file = path.join(path.dirname(door.file), 'newer.mjs')
  fs.writeFileSync(file, `${text}\n// newer\n`)
  return { ...door, file }
}

test('a killed door is started again by a keeper, and agents keep running', async () => {
  const one = await serving('one')
  const two = await serving('two', { like: one.supervised })
  const pids = await Promise.all([one, two].map(({ url }) => get(`${url}/pid`)))
  for (let kills = 0; kills < 2; kills++) {
    const door = one.supervised.doorPid()!
    process.kill(door, 'SIGKILL')
    await gone(door)
    for (const [i, { url }] of [one, two].entries())
      await expect.poll(() => get(`${url}/pid`).catch(() => ''), { timeout: 10_000 }).toBe(pids[i])
  }
})

test('limits of the server reach the door, and the door that takes over', async () => {
  const { supervised, server, url } = await serving('agent')
  const bounds = {
    requests: null,
    requestsPerSecond: null,
    clientRequestsPerSecond: null,
    bodyBytes: 5,
    headerMs: 10_000,
    idleMs: null,
    trustProxy: [],
  }
  await server.ask({ verb: 'open', port: supervised.port, bindAddress: '127.0.0.1', bounds })
  const statusOf = async (body: string) => (await fetch(url, { method: 'POST', body })).status
  expect([await statusOf('12345'), await statusOf('123456')]).toEqual([200, 413])
  await updateDoor(newerVersion(supervised))
  expect([await statusOf('12345'), await statusOf('123456')]).toEqual([200, 413])
})

test('the door that takes over has the certificate, and so has one that starts after a crash without a server', async () => {
  const { supervised, server } = await serving('agent')
  const address = { port: supervised.port, bindAddress: '127.0.0.1', name: 'one', hosts: ['one.localhost'], tls: true }
  await server.ask({ verb: 'open', ...address })
  const { folder } = supervised.config.door
  const link = new ServerLink(async () => supervised.config.door)
  await link.request({ do: 'certificate', certificate })
  // no server has told the door who may call
  const statusOf = async () => {
    const url = `https://one.localhost:${supervised.port}`
    return (await getOverTls(url, Buffer.from(certificate.cert))).statusCode
  }
  expect(await statusOf()).toBe(503)
  await updateDoor(newerVersion(supervised))
  expect(await statusOf()).toBe(503)
  const file = path.join(folder, 'certificate.json')
  expect(fs.statSync(file).mode & 0o777).toBe(0o600)
  process.kill(supervised.doorPid()!, 'SIGKILL')
  await expect.poll(() => statusOf().catch(() => null), { timeout: 10_000 }).toBe(503)
  await link.request({ do: 'certificate', certificate: null })
  await link.close()
  expect(fs.existsSync(file)).toBe(false)
})

test('a newer door takes over without a failed request or a cut stream, and the older one ends after its last stream', async () => {
  const { supervised, url } = await serving('agent', { source: STREAMING })
  const older = supervised.doorPid()!
  const stream = await fetch(`${url}/events`)
  const reader = stream.body!.getReader()
  const chunk = async () => new TextDecoder().decode((await reader.read()).value)
  expect(await chunk()).toBe('first ')
  const socket = new WebSocket(url.replace('http', 'ws'))
  await once(socket, 'open')

  const answers: string[] = []
  let busy = true
  const client = async (agent: http.Agent, method: string) => {
    while (busy) answers.push(await request(url, agent, method))
  }
  const keepAlive = new http.Agent({ keepAlive: true })
  const fresh = new http.Agent()
  const clients = [keepAlive, fresh].flatMap((agent) => ['GET', 'POST'].map((method) => client(agent, method)))
  await expect.poll(() => answers.length).toBeGreaterThan(20)
  await updateDoor(newerVersion(supervised))
  const before = answers.length
  await expect.poll(() => answers.length).toBeGreaterThan(before + 50)
  busy = false
  await Promise.all(clients)
  keepAlive.destroy()
  expect(new Set(answers)).toEqual(new Set(['agent']))

  const newer = supervised.doorPid()!
  expect(newer).not.toBe(older)
  socket.send('still open')
  expect(String((await once(socket, 'message'))[0])).toBe('still open')
  socket.close()
  expect(alive(older)).toBe(true)
  await get(`${url}/end`)
  expect(await chunk()).toBe('last')
  expect(await gone(older)).toBe(true)
  expect(await get(url)).toBe('agent')
})

test('a takeover waits for keepers that have not come since the last one, and no request fails', async () => {
  const supervised = await newSupervisor()
  open.push(supervised)
  const { door } = supervised.config
  const agent = http.createServer((_request, response) => response.end('ok')).listen(0, '127.0.0.1')
  await once(agent, 'listening')
  const upstream = { id: 'agent', host: '127.0.0.1', port: (agent.address() as AddressInfo).port }
  const address = { port: supervised.port, host: '127.0.0.1' }
  const connections: DoorConnection[] = []
  const connect = async () => {
    let connection = await connectToDoor(door.folder)
    while (!connection) connection = await connectToDoor(door.folder)
    connections.push(connection)
    return connection
  }
  /** What a keeper does, at a moment of the test's choice. */
  const comes = async () => {
    const connection = await connect()
    await connection.request({ do: 'hello', deployment: 'one' })
    await connection.request({ do: 'apply', state: { address, upstream, held: false, ending: [] } })
  }
  const answer = () => get(`http://127.0.0.1:${supervised.port}`).catch(() => 'refused')
  startDoor(door)
  await comes()
  await expect.poll(answer).toBe('ok')
  await updateDoor(newerVersion(supervised))
  const server = await connect()
  const second = server.request({ do: 'replace', program: door })
  // the answer comes after the takeover has begun
  await server.request({ do: 'hello', deployment: null })
  const between = answer()
  await comes()
  await second
  const after = answer()
  await comes()
  expect(await Promise.all([between, after])).toEqual(['ok', 'ok'])
  for (const connection of connections) connection.close()
  agent.close()
})

test('an agent that is replaced after the door was, drains the streams of both doors', async () => {
  const { supervised, server, url } = await serving('one', { source: STREAMING })
  const streams = [await fetch(`${url}/events`)]
  await updateDoor(newerVersion(supervised))
  streams.push(await fetch(`${url}/events`))
  const [old] = [server.state().serving!.pid!]
  const next = planOf(supervised, 'two', { source: STREAMING })
  await server.ask({ verb: 'prepare', plan: next, ms: 10_000 })
  await server.ask({ verb: 'switch', key: next.key })
  expect(await get(url)).toBe('two')
  expect(alive(old)).toBe(true)
  await Promise.all(streams.map((stream) => stream.body!.cancel()))
  expect(await gone(old)).toBe(true)
})

/** Throws once when the door serves: it listens for SIGTERM from then on. */
const FAULT = `const served = setInterval(() => {
  if (process.listenerCount('SIGTERM') === 0) return
  clearInterval(served)
  throw new Error('a fault')
}, 100)
`

test('a door with a fault is replaced by a new process, and no request or stream notices', async () => {
  const { supervised, url } = await serving('agent', { source: STREAMING })
  const text = fs.readFileSync(supervised.config.door.file, 'utf8')
  const faulty = newerVersion(supervised, `${FAULT}${text}`)
  await updateDoor(faulty)
  const stream = await fetch(`${url}/events`)
  const doors = new Set<number | null>()
  while (doors.size < 4) {
    doors.add(supervised.doorPid())
    expect(await get(url)).toBe('agent')
  }
  await get(`${url}/end`)
  expect(await stream.text()).toBe('first last')
  const log = fs.readFileSync(path.join(supervised.config.door.folder, 'error.log'), 'utf8')
  expect(log).toContain('Error: a fault')
})

test('a newer door that can’t start leaves the older one in place', async () => {
  const { supervised, url } = await serving('one')
  const older = supervised.doorPid()
  await expect(updateDoor(newerVersion(supervised, 'process.exit(3)'))).rejects.toThrow('The new door did not start')
  expect(await get(url)).toBe('one')
  expect(supervised.doorPid()).toBe(older)
  await updateDoor(supervised.config.door)
  expect(supervised.doorPid()).toBe(older)
})

test('a newer door that ends while it starts leaves the older one in place for new keepers', async () => {
  const one = await serving('one')
  const { supervised } = one
  const older = supervised.doorPid()
  const text = fs.readFileSync(supervised.config.door.file, 'utf8')
  const ending = text.replace('process.stdout.write("ready\\n")', 'process.exit(3)')
  expect(ending).not.toBe(text)
  await expect(updateDoor(newerVersion(supervised, ending))).rejects.toThrow('The new door did not start')
  const two = await serving('two', { like: supervised })
  expect(await get(two.url)).toBe('two')
  expect(supervised.doorPid()).toBe(older)
})

test('a door that replaces another one, also after kill -9, knows who may call', async () => {
  const { supervised, url } = await serving('agent')
  const { config } = supervised
  const server = (await connectToDoor(config.door.folder))!
  const deployment = {
    id: config.deploymentId,
    name: null,
    workspace: 'w',
    organization: 'o',
    access: 'workspace',
  } as const
  const copy = { deployments: [deployment], keys: [], sessions: [], linkKeys: [] }
  const settings = {
    issuer: 'http://us',
    hosts: '{name}.localhost',
    secure: false,
    trustProxy: [],
    offlineHours: 24,
    jwt: null,
  }
  const news = { hash: 'one', settings }
  const known = await server.request({ do: 'access', news })
  expect(known).toMatchObject({ copyNeeded: true, callerKey: { kty: 'OKP' } })
  expect(await server.request({ do: 'access', news: { ...news, copy } })).toMatchObject({ copyNeeded: false })
  const status = () => fetch(url).then((response) => response.status, String)
  expect(await status()).toBe(401)
  await updateDoor(newerVersion(supervised))
  expect(await status()).toBe(401)
  const newer = supervised.doorPid()!
  process.kill(newer, 'SIGKILL')
  await gone(newer)
  await expect.poll(status, { timeout: 10_000 }).toBe(401)
  const again = (await connectToDoor(config.door.folder))!
  expect(await again.request({ do: 'access', news })).toMatchObject({ copyNeeded: false, callerKey: known!.callerKey })
  for (const connection of [server, again]) connection.close()
})

test('the access log reaches a running door, and the next one, while the older door completes its lines', async () => {
  const { supervised, url } = await serving('agent', { source: STREAMING })
  const file = path.join(path.dirname(supervised.config.door.file), 'access.log')
  const paths = () =>
    fs.existsSync(file)
      ? [...fs.readFileSync(file, 'utf8').matchAll(/"path":"([^"]*)"/g)].map(([, found]) => found)
      : []
  const server = (await connectToDoor(supervised.config.door.folder))!
  const { deploymentId: id } = supervised.config
  const about = { id, name: null, workspace: 'w', organization: 'o', access: 'public' } as const
  const copy = { deployments: [about], keys: [], sessions: [], linkKeys: [] }
  const settings = { issuer: 'http://us', hosts: '{name}.localhost', secure: false, offlineHours: 24, jwt: null }
  const tell = (accessLog?: string) =>
    server.request({ do: 'access', news: { hash: 'one', settings: { ...settings, trustProxy: [], accessLog }, copy } })
  await get(`${url}/before`)
  expect(await tell(file)).not.toHaveProperty('logProblem')
  await get(`${url}/1`)
  const stream = await fetch(`${url}/events`)
  await updateDoor(newerVersion(supervised))
  await get(`${url}/2`)
  await get(`${url}/end`)
  await stream.text()
  await expect.poll(() => paths().sort()).toEqual(['/1', '/2', '/end', '/events'])
  const door = supervised.doorPid()!
  process.kill(door, 'SIGKILL')
  await gone(door)
  await expect.poll(() => get(`${url}/3`).catch(() => ''), { timeout: 10_000 }).toBe('agent')
  await expect.poll(() => paths().at(-1)).toBe('/3')
  server.close()
})

test('two servers that replace the door get the same newer one', async () => {
  const { supervised, url } = await serving('one')
  const newer = newerVersion(supervised)
  await Promise.all([updateDoor(newer), updateDoor(newer)])
  const lock = path.join(newer.folder, 'lock')
  await expect
    .poll(() => fs.existsSync(lock) && Number.parseInt(fs.readFileSync(lock, 'utf8'), 10))
    .toBe(supervised.doorPid())
  expect(await get(url)).toBe('one')
})

test('of keepers that need a door at the same moment, one starts it', async () => {
  const { root, config } = await newSupervisor()
  const program = config.door
  const starts = path.join(root, 'starts')
  const count = `(await import('node:fs')).appendFileSync(${JSON.stringify(starts)}, 'x')\n`
  fs.writeFileSync(program.file, count + fs.readFileSync(program.file, 'utf8'))
  const links = await Promise.all(
    Array.from({ length: 10 }, async (_, i) => {
      const port = await freePort()
      const link = { opened: 0, door: null as DoorLink | null }
      const onListening = (_port: number, problem: string | null) => problem === null && link.opened++
      const none = () => undefined
      const options = { deployment: String(i), program, onListening, onServed: none, onLost: none }
      link.door = new DoorLink(options)
      void link.door.setState({ address: { port, host: '127.0.0.1' } })
      return link
    }),
  )
  const all = (opened: number) => expect.poll(() => links.every((link) => link.opened === opened), { timeout: 10_000 })
  await all(1).toBe(true)
  process.kill(doorPidIn(program.folder)!, 'SIGKILL')
  await all(2).toBe(true)
  // a keeper that looked just before the door listened may start another
  expect(fs.readFileSync(starts, 'utf8')).toMatch(/^x{2,4}$/)
  const last = doorPidIn(program.folder)!
  await Promise.all(links.map(({ door }) => door!.close()))
  process.kill(last, 'SIGTERM')
  await gone(last)
  fs.rmSync(root, { recursive: true })
})

test('a door’s log that was replaced by a link is not written to', async () => {
  const { root, config } = await newSupervisor()
  const other = path.join(root, 'other')
  fs.symlinkSync(other, path.join(config.door.folder, 'error.log'))
  expect(() => startDoor(config.door)).toThrow('ELOOP')
  expect(fs.existsSync(other)).toBe(false)
  fs.rmSync(root, { recursive: true })
})

test('a door that ends inside a message closes the connection', async () => {
  const { root, config } = await newSupervisor()
  const socket = path.join(config.door.folder, '1')
  const door = net.createServer((client) => client.end('{"say":"ans'))
  door.listen(socket)
  await once(door, 'listening')
  publishSocket(config.door.folder, socket)
  const connection = await connectToDoor(config.door.folder)
  await connection!.closed
  expect(await connection!.request({ do: 'hello', deployment: null })).toBeNull()
  door.close()
  fs.rmSync(root, { recursive: true })
})

test('a health check whose answer has no end is closed', async () => {
  const agent = http.createServer((_request, response) => {
    const writing = setInterval(() => response.write('still '), 20)
    response.once('close', () => clearInterval(writing))
  })
  agent.listen(0, '127.0.0.1')
  await once(agent, 'listening')
  const connected = once(agent, 'connection')
  const { port } = agent.address() as AddressInfo
  expect(await requestHealth(port, '/', 200)).toEqual({ host: '127.0.0.1', status: 200 })
  const [socket] = await connected
  if (!socket.closed) await once(socket, 'close')
  agent.close()
})

test('an address that is closed while it opens stays closed', async () => {
  const listeners = openListeners()
  const [closed, other] = [new Address(listeners, 'one'), new Address(listeners, 'two')]
  const state = { address: { port: await freePort(), host: '127.0.0.1' }, upstream: null, held: false, ending: [] }
  closed.apply(state)
  closed.apply({ ...state, address: null })
  const opened = new Promise<void>((resolve) => {
    other.onListening = (_port, problem) => problem === null && resolve()
  })
  other.apply(state)
  await opened
  await Promise.all([closed.close(), other.close()])
})

test('a door that gets SIGTERM serves until no keeper uses it', async () => {
  const { supervised, server, url } = await serving('one')
  const door = supervised.doorPid()!
  process.kill(door, 'SIGTERM')
  expect(await get(url)).toBe('one')
  expect(supervised.doorPid()).toBe(door)
  await server.ask({ verb: 'end', drainMs: 0 })
  expect(await gone(door)).toBe(true)
})

test('a door ends when no keeper uses it', async () => {
  const { supervised, server } = await serving('one')
  const door = supervised.doorPid()!
  await server.ask({ verb: 'end', drainMs: 0 })
  expect(await gone(door)).toBe(true)
  expect(fs.readFileSync(path.join(supervised.config.door.folder, 'error.log'), 'utf8')).toBe('')
})

test.skipIf(needsRoot('a separate account for the door'))(
  'a door has no root privileges, and neither has the one that replaces it',
  async () => {
    const supervised = await newSupervisor()
    open.push(supervised)
    const account = { uid: 65_534, gid: 65_534 }
    supervised.config.door.account = account
    fs.chownSync(supervised.config.door.folder, account.uid, account.gid)
    await supervised.start()
    const url = await serve(supervised, await supervised.connect(), planOf(supervised, 'one'))
    expect(await get(url)).toBe('one')
    const older = supervised.doorPid()!
    const newer = newerVersion(supervised)
    fs.chmodSync(newer.file, 0o644)
    await updateDoor(newer)
    expect(await gone(older)).toBe(true)
    expect(await get(url)).toBe('one')
    const status = fs.readFileSync(`/proc/${supervised.doorPid()}/status`, 'utf8')
    expect(/^Uid:\s+(.*)$/m.exec(status)?.[1]).toBe('65534\t65534\t65534\t65534')
    expect(/^CapEff:\s+(.*)$/m.exec(status)?.[1]).toMatch(/^0+$/)
    const folder = fs.readdirSync(supervised.config.door.folder).sort()
    expect(folder).toEqual([String(supervised.doorPid()), 'caller-key.pem', 'door.json', 'error.log', 'lock'].sort())
  },
)

/** The text of the answer, or the error. */
function request(url: string, agent: http.Agent, method: string): Promise<string> {
  return new Promise((resolve) => {
    const sent = http.request(url, { agent, method }, (response) => {
      let text = ''
      response.on('data', (data) => {
        text += data
      })
      response.on('end', () => resolve(text)).on('error', (error) => resolve(error.message))
    })
    sent.on('error', (error) => resolve(error.message))
    sent.end(method === 'POST' ? 'body' : undefined)
  })
}
