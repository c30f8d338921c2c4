/**
 * The door between a client and an agent, compared with the agent alone and with Caddy, if it is installed. The agent answers with a
 * few bytes. CPU is the proxy's. Linux only.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { connectToDoor, type DoorConnection } from '../../../src/dataplane/process/door/door-connection.ts'
import { startDoor } from '../../../src/dataplane/process/door/start-door.ts'
import { bundleProgram, PROGRAM_ENTRIES } from '../../../src/dataplane/process/machine/bundle.ts'
import { freePort } from '../../support/free-port.ts'
import { temporaryFolder } from '../../support/process.ts'
import { cpuOf } from '../../support/steady/supervisors.ts'
import { Generator } from '../load/load.ts'
import { say } from './support.ts'

const CONNECTIONS = 16
const SECONDS = 3
const ROUNDS = 5

const AGENT =
  "require('http').createServer((request, answer) => answer.end('hello')).listen(process.argv[1], '127.0.0.1', () => console.log('up'))"

interface Contender {
  name: string
  port: number
  /** process id of the proxy; null: none */
  pid: number | null
  figures: { perSecond: number; p50: number; p99: number; cpuUs: number }[]
}

export async function doorThroughput(): Promise<void> {
  const folder = await temporaryFolder()
  const children: ChildProcess[] = []
  const generator = new Generator(folder.path)
  let door: { connection: DoorConnection; port: number; pid: number } | null = null
  try {
    const agentPort = await freePort()
    const agent = spawn(process.execPath, ['-e', AGENT, String(agentPort)], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(agent)
    await new Promise((resolve) => agent.stdout!.once('data', resolve))
    door = await openDoor(folder.path, agentPort)
    const contenders: Contender[] = [
      { name: 'the agent alone', port: agentPort, pid: null, figures: [] },
      { name: 'behind the door', port: door.port, pid: door.pid, figures: [] },
    ]
    const caddy = await startCaddy(folder.path, agentPort)
    if (caddy) {
      children.push(caddy.child)
      contenders.push({ name: 'behind Caddy', port: caddy.port, pid: caddy.child.pid!, figures: [] })
    }
    for (const { name, port } of contenders)
      generator.prepare(name, { url: `http://127.0.0.1:${port}`, keys: ['k'], requests: [{ path: '/' }], status: 200 })
    for (let round = 0; round <= ROUNDS; round++) for (const one of contenders) await measure(generator, one, round)
    for (const { name, pid, figures } of contenders) {
      const middle = (key: keyof (typeof figures)[number]) =>
        figures.map((it) => it[key]).sort((a, b) => a - b)[Math.floor(figures.length / 2)]!
      const cpu = pid === null ? '' : `  ${middle('cpuUs').toFixed(0)} µs of CPU each`
      say(
        name,
        `${middle('perSecond').toFixed(0)}/s  p50 ${middle('p50').toFixed(2)}  p99 ${middle('p99').toFixed(2)}${cpu}`,
      )
    }
  } finally {
    door?.connection.close()
    for (const child of children) child.kill('SIGKILL')
    await generator.end()
    await folder.remove()
  }
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

/** A door with one address, controlled as by a keeper. */
async function openDoor(root: string, agentPort: number) {
  const folder = path.join(root, 'door')
  mkdirSync(folder)
  const file = path.join(root, 'door.mjs')
  writeFileSync(file, bundleProgram(PROGRAM_ENTRIES.door).text)
  startDoor({ node: process.execPath, file, folder, account: null })
  let isOpen = false
  const connect = () =>
    connectToDoor(folder, (event) => {
      if (event.say === 'listening') isOpen = event.problem === null
    })
  let connection = await connect()
  for (; !connection; connection = await connect()) await delay(50)
  const port = await freePort()
  const { pid } = (await connection.request({ do: 'hello', deployment: 'bench' }))!
  const upstream = { id: 'agent', host: '127.0.0.1', port: agentPort }
  const address = { port, host: '127.0.0.1' }
  await connection.request({ do: 'apply', state: { address, upstream, held: false, ending: [] } })
  while (!isOpen) await delay(20)
  return { connection, port, pid: pid! }
}

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
