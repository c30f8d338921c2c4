/**
 * The door between a client and an agent, compared with the agent alone and with Caddy, if it is installed: an open agent, one that
 * needs a key, one with an access log, and one whose neighbour is flooded. The agent answers with a few bytes. CPU is the proxy's. Linux only.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connectToDoor, type DoorConnection } from '../../../src/dataplane/process/door/door-connection.ts'
import type { Bounds, Place } from '../../../src/dataplane/process/door/messages.ts'
import { startDoor } from '../../../src/dataplane/process/door/start-door.ts'
import { bundleProgram, PROGRAM_ENTRIES } from '../../../src/dataplane/process/machine/bundle.ts'
import type { AccessCopy, GuardSettings } from '../../../src/domain/values/access-copy.ts'
import { freePort } from '../../support/free-port.ts'
import { temporaryFolder } from '../../support/process.ts'
import { cpuOf } from '../../support/steady/supervisors.ts'
import { Generator } from '../load/load.ts'
import type { Ran } from '../load/orders.ts'
import { say } from './support.ts'

const CONNECTIONS = 16
const SECONDS = 3
const ROUNDS = 5
const KEY = 'k'
/** of a client that sends more than its deployment may get, and of the other deployment */
const FLOOD_CONNECTIONS = 500
const NEIGHBOUR_CONNECTIONS = 2
/** deployments: one has a port, the others are names on another port */
const OPEN = 'open'
const GUARDED = 'guarded'
const FLOODED = 'flooded'

const AGENT =
  "require('http').createServer((request, answer) => answer.end('hello')).listen(process.argv[1], '127.0.0.1', () => console.log('up'))"

interface Figures {
  perSecond: number
  p50: number
  p99: number
  cpuUs: number
}

interface Contender {
  name: string
  port: number
  path: string
  /** with the door's access log */
  isLogged?: boolean
  /** process id of the proxy; null: none */
  pid: number | null
  figures: Figures[]
}

export async function doorThroughput(): Promise<void> {
  const folder = await temporaryFolder()
  const children: ChildProcess[] = []
  const generator = new Generator(folder.path)
  const flood = new Generator(folder.path)
  let door: Awaited<ReturnType<typeof openDoor>> | null = null
  try {
    const agentPort = await startAgent(children)
    door = await openDoor(folder.path, { agentPort, floodedPort: await startAgent(children) })
    const behindDoor = { name: 'behind the door', port: door.port, path: '/', pid: door.pid, figures: [] }
    const contenders: Contender[] = [
      { name: 'the agent alone', port: agentPort, path: '/', pid: null, figures: [] },
      behindDoor,
      { ...behindDoor, name: 'behind the door, with an access log', isLogged: true, figures: [] },
      { name: 'behind the door, with a key', port: door.namesPort, path: '/~guarded/', pid: door.pid, figures: [] },
    ]
    const caddy = await startCaddy(folder.path, agentPort)
    if (caddy) {
      children.push(caddy.child)
      contenders.push({ name: 'behind Caddy', port: caddy.port, path: '/', pid: caddy.child.pid!, figures: [] })
    }
    for (const { name, port, path } of contenders)
      generator.prepare(name, { url: `http://127.0.0.1:${port}`, keys: [KEY], requests: [{ path }], status: 200 })
    for (let round = 0; round <= ROUNDS; round++)
      for (const one of contenders) {
        await door.setAccessLog(one.isLogged ?? false)
        await measure(generator, one, round)
      }
    await measureFlood(generator, flood, door.namesPort)
    for (const { name, pid, figures } of contenders) {
      const cpu = pid === null ? '' : `  ${middle(figures, 'cpuUs').toFixed(0)} µs of CPU each`
      say(name, `${middle(figures, 'perSecond').toFixed(0)}/s  ${p50AndP99(figures)}${cpu}`)
    }
  } finally {
    door?.close()
    for (const child of children) child.kill('SIGKILL')
    await generator.end()
    await flood.end()
    await folder.remove()
  }
}

/** Returns the agent's port. */
async function startAgent(children: ChildProcess[]): Promise<number> {
  const port = await freePort()
  const agent = spawn(process.execPath, ['-e', AGENT, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(agent)
  await new Promise((resolve) => agent.stdout!.once('data', resolve))
  return port
}

/** A first round only warms up. */
async function measure(generator: Generator, contender: Contender, round: number): Promise<void> {
  const { name, pid, figures } = contender
  const before = pid === null ? 0 : cpuOf(pid)
  const { requests, seconds, p50, p99 } = await generator.run(name, { connections: CONNECTIONS, seconds: SECONDS })
  if (round === 0) return
  const cpuUs = pid === null ? 0 : ((cpuOf(pid) - before) * 1000) / requests
  figures.push({ perSecond: requests / seconds, p50, p99, cpuUs })
}

/** What a flood of one deployment costs the other one. */
async function measureFlood(generator: Generator, flood: Generator, port: number): Promise<void> {
  const load = (name: string) => ({ url: `http://127.0.0.1:${port}`, keys: [KEY], requests: [{ path: `/~${name}/` }] })
  generator.prepare('neighbour', { ...load(GUARDED), status: 200 })
  flood.prepare('flood', { ...load(FLOODED), status: null })
  const measure = () => generator.run('neighbour', { connections: NEIGHBOUR_CONNECTIONS, seconds: SECONDS })
  const alone: Figures[] = []
  const flooded: Figures[] = []
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(figuresOf(await measure()))
    const ended = flood.run('flood', { connections: FLOOD_CONNECTIONS, seconds: SECONDS + 2 })
    await delay(1000)
    flooded.push({ ...figuresOf(await measure()), perSecond: figuresOf(await ended).perSecond })
  }
  say('a neighbour', p50AndP99(alone))
  say('a neighbour of a flood', `${p50AndP99(flooded)}  (${middle(flooded, 'perSecond').toFixed(0)}/s)`)
}

const figuresOf = ({ requests, seconds, p50, p99 }: Ran): Figures => ({
  perSecond: requests / seconds,
  p50,
  p99,
  cpuUs: 0,
})

const p50AndP99 = (all: Figures[]) => `p50 ${middle(all, 'p50').toFixed(2)}  p99 ${middle(all, 'p99').toFixed(2)}`

/** The median. */
const middle = (all: Figures[], key: keyof Figures) =>
  all.map((it) => it[key]).sort((a, b) => a - b)[Math.floor(all.length / 2)]!

/** A door with one open address, and two on a port for names whose callers need a key. Controlled as by a server and keepers. */
async function openDoor(root: string, { agentPort, floodedPort }: { agentPort: number; floodedPort: number }) {
  const folder = path.join(root, 'door')
  mkdirSync(folder)
  const file = path.join(root, 'door.mjs')
  writeFileSync(file, bundleProgram(PROGRAM_ENTRIES.door).text)
  startDoor({ node: process.execPath, file, folder, account: null })
  const host = '127.0.0.1'
  const connections: DoorConnection[] = []
  const keep = async (deployment: string, address: Place, bounds?: Bounds): Promise<DoorConnection> => {
    let isOpen = false
    const connect = () =>
      connectToDoor(folder, (event) => {
        if (event.say === 'listening') isOpen = event.problem === null
      })
    let connection = await connect()
    for (; !connection; connection = await connect()) await delay(50)
    connections.push(connection)
    await connection.request({ do: 'hello', deployment })
    const upstream = { id: 'agent', host, port: deployment === FLOODED ? floodedPort : agentPort }
    const state = { address, upstream, held: false, ending: [], ...(bounds && { bounds }) }
    await connection.request({ do: 'apply', state })
    while (!isOpen) await delay(20)
    return connection
  }
  const [port, namesPort] = [await freePort(), await freePort()]
  const connection = await keep(OPEN, { port, host })
  const setAccessLog = async (isOn: boolean) => {
    const settings = isOn ? { ...GUARD, accessLog: path.join(root, 'access.log') } : GUARD
    await connection.request({ do: 'access', news: { hash: '1', settings, copy: COPY } })
  }
  await setAccessLog(false)
  for (const [name, bounds] of Object.entries({ [GUARDED]: UNBOUNDED, [FLOODED]: BOUNDS }))
    await keep(name, { port: namesPort, host, name, hosts: [] }, bounds)
  const { pid } = (await connection.request({ do: 'hello', deployment: null }))!
  const close = () => {
    for (const one of connections) one.close()
  }
  return { port, namesPort, pid: pid!, setAccessLog, close }
}

const GUARD: GuardSettings = {
  issuer: 'http://localhost',
  hosts: '{name}.localhost',
  secure: false,
  trustProxy: [],
  offlineHours: 24,
  jwt: null,
}
const TENANT = { workspace: 'w', organization: 'o' }
const COPY: AccessCopy = {
  deployments: [
    { id: OPEN, name: null, ...TENANT, access: 'public' },
    ...[GUARDED, FLOODED].map((id) => ({ id, name: id, ...TENANT, access: 'workspace' as const })),
  ],
  keys: [{ id: 'key', hash: createHash('sha256').update(KEY).digest('hex'), ...TENANT, role: 'caller', expires: null }],
  sessions: [],
  linkKeys: [],
}
/** the defaults (platform/config/settings.ts) */
const BOUNDS: Bounds = {
  requests: 1000,
  requestsPerSecond: 5000,
  clientRequestsPerSecond: null,
  bodyBytes: null,
  headerMs: 60_000,
  idleMs: null,
  trustProxy: [],
}
const UNBOUNDED: Bounds = { ...BOUNDS, requestsPerSecond: null }

/** Null: Caddy is not installed. */
async function startCaddy(folder: string, agentPort: number): Promise<{ child: ChildProcess; port: number } | null> {
  if (spawnSync('caddy', ['version']).error) return null
  const port = await freePort()
  const file = path.join(folder, 'Caddyfile')
  writeFileSync(file, `{\n admin off\n auto_https off\n}\n:${port} {\n reverse_proxy 127.0.0.1:${agentPort}\n}\n`)
  const child = spawn('caddy', ['run', '--config', file], { stdio: 'ignore' })
  const answers = () =>
    fetch(`http://127.0.0.1:${port}`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await answers())) await delay(50)
  return { child, port }
}
