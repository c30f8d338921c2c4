/** Real supervisors with real agents for tests, and a client that sends a server's requests. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { vi } from 'vitest'
import { bundleProgram, PROGRAM_ENTRIES } from '../../src/dataplane/process/machine/bundle.ts'
import type {
  AgentPlan,
  Answer,
  Hello,
  Request,
  State,
  SupervisorConfig,
  SupervisorEvent,
  Welcome,
} from '../../src/dataplane/process/supervisor/protocol.ts'
import { alive, eventually } from '../dataplane/support.ts'
import { freePort } from '../support/free-port.ts'

let programs: Record<keyof typeof PROGRAM_ENTRIES, string> | undefined

type Verb<V> = V extends Request ? Omit<V, 'id' | 'token'> : never
type Asked = Verb<Request>

export interface Supervised {
  /** absolute path of a DATA_DIR that every account can enter */
  root: string
  config: SupervisorConfig
  port: number
  /** Starts another keeper. Resolves when it answers or has exited. `node`: default: this process's. */
  start(node?: string): Promise<ChildProcess>
  connect(token?: string): Promise<Server>
  /** output of agents, with the supervisor's notes */
  printed(): string
  /** process id of the door that its keeper is connected to; null: none */
  doorPid(): number | null
  /** Ends the supervisor and removes its files. */
  remove(): Promise<void>
}

/** Prepares the files of a supervisor without starting it. */
export async function newSupervisor(changes: Partial<SupervisorConfig> = {}): Promise<Supervised> {
  const root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'pilothouse-supervisor-')))
  fs.chmodSync(root, 0o755)
  const folder = path.join(root, 'run/0')
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const config: SupervisorConfig = {
    deploymentId: randomUUID(),
    installation: randomUUID(),
    folder,
    socket: path.join(folder, 'sock'),
    secret: randomUUID(),
    outputFolder: path.join(folder, 'output'),
    output: { fileBytes: 1_000_000, files: 3, linesPerSecond: 1000 },
    appPorts: [22_000, 29_999],
    door: { node: process.execPath, file: path.join(root, 'door.mjs'), folder: path.join(root, 'door'), account: null },
    orphanHours: 24,
    drainSeconds: 20,
    ...changes,
  }
  programs ??= {
    supervisor: bundleProgram(PROGRAM_ENTRIES.supervisor).text,
    door: bundleProgram(PROGRAM_ENTRIES.door).text,
  }
  const file = path.join(root, 'supervisor.mjs')
  fs.writeFileSync(file, programs.supervisor)
  fs.writeFileSync(config.door.file, programs.door)
  fs.mkdirSync(config.door.folder, { recursive: true, mode: 0o700 })
  const children: ChildProcess[] = []
  const servers: Server[] = []
  const reachable = () =>
    new Promise<boolean>((resolve) => {
      const socket = net.connect(config.socket, () => {
        socket.destroy()
        resolve(true)
      })
      socket.on('error', () => resolve(false))
    })
  return {
    root,
    config,
    port: await freePort(),
    async start(node = process.execPath) {
      const child = spawn(node, [file], {
        cwd: '/',
        env: { PATH: process.env.PATH ?? '' },
        detached: true,
        stdio: ['pipe', 'ignore', 'inherit'],
      })
      children.push(child)
      child.stdin!.on('error', () => undefined).end(`${JSON.stringify(config)}\n`)
      await eventually(async () => child.exitCode !== null || (await reachable()), 25_000)
      return child
    },
    async connect(token = '1') {
      const server = await connect(config, token)
      servers.push(server)
      return server
    },
    printed: () =>
      fs
        .readdirSync(config.outputFolder)
        .map((name) => fs.readFileSync(path.join(config.outputFolder, name), 'utf8'))
        .join(''),
    doorPid: () => doorPidIn(config.door.folder),
    async remove() {
      for (const server of servers) server.close()
      fs.rmSync(path.join(folder, 'lock'), { force: true })
      for (const child of children) {
        if (child.exitCode !== null || child.signalCode !== null) continue
        const ended = once(child, 'exit')
        child.kill('SIGTERM')
        await ended
      }
      // a door waits for other keepers; the door of another supervisor has some
      const door = config.door.folder.startsWith(root) ? doorPidIn(config.door.folder) : null
      if (door !== null) process.kill(door, 'SIGTERM')
      await eventually(() => door === null || !alive(door))
      // a second door, which waited for the lock of the first, writes into its folder until it ends unused
      await vi.waitFor(() => fs.rmSync(root, { recursive: true, force: true }), { timeout: 30_000, interval: 100 })
    },
  }
}

/** Process id of the door that clients of the folder connect to; null: none. */
export function doorPidIn(folder: string): number | null {
  try {
    const { socket } = JSON.parse(fs.readFileSync(path.join(folder, 'door.json'), 'utf8'))
    const pid = Number(path.basename(socket))
    return alive(pid) ? pid : null
  } catch {
    return null
  }
}

/** A server's connection to a supervisor. */
export interface Server {
  welcome: Welcome
  /** as last received */
  state(): State
  said: SupervisorEvent[]
  ask(request: Asked, token?: string): Promise<Answer>
  closed: Promise<unknown>
  socket: net.Socket
  close(): void
}

export async function connect(config: SupervisorConfig, token: string, changes: Partial<Hello> = {}): Promise<Server> {
  const socket = net.connect(config.socket)
  socket.on('error', () => undefined)
  const closed = once(socket, 'close')
  await once(socket, 'connect')
  const { secret, installation, deploymentId } = config
  const hello: Hello = { verb: 'hello', protocol: 1, secret, installation, deploymentId, token, ...changes }
  socket.write(`${JSON.stringify(hello)}\n`)
  const said: SupervisorEvent[] = []
  const answers = new Map<number, (answer: Answer) => void>()
  let state: State | null = null
  let welcomed: (welcome: Welcome) => void = () => undefined
  const welcome = new Promise<Welcome>((resolve) => {
    welcomed = resolve
  })
  createInterface({ input: socket }).on('line', (line) => {
    const message = JSON.parse(line) as Welcome | Answer | SupervisorEvent
    if ('say' in message) {
      said.push(message)
      if (message.say === 'state') state = message.state
    } else if ('id' in message) answers.get(message.id)?.(message)
    else {
      if (message.ok) state ??= message.state
      welcomed(message)
    }
  })
  let id = 0
  return {
    welcome: await welcome,
    state: () => state!,
    said,
    ask: (request, as = token) =>
      new Promise((resolve) => {
        answers.set(++id, resolve)
        socket.write(`${JSON.stringify({ ...request, id, token: as })}\n`)
      }),
    closed,
    socket,
    close: () => socket.destroy(),
  }
}

/** Answers with its text, slowly at /slow, and with its pid at /pid. Exits at /crash. */
const AGENT = `
import http from 'node:http'
http.createServer((req, res) => {
  if (req.url === '/crash') process.exit(7)
  if (req.url === '/slow') { res.write(process.env.TEXT); return setTimeout(() => res.end(' done'), 1000) }
  res.end(req.url === '/pid' ? String(process.pid) : process.env.TEXT)
}).listen(process.env.PORT, '127.0.0.1', () => console.log('up ' + process.env.TEXT))
`

/** A plan for an agent that answers with `text`, or that runs `source`. */
export function planOf(
  { root }: Supervised,
  text: string,
  changes: Partial<AgentPlan> & { source?: string } = {},
): AgentPlan {
  const { source = AGENT, ...rest } = changes
  const revisionId = randomUUID()
  const tree = path.join(root, 'artifacts', revisionId)
  const [runs, temporary] = [path.join(root, 'runs'), path.join(root, 'tmp')]
  for (const folder of [tree, runs, temporary]) fs.mkdirSync(folder, { recursive: true })
  fs.writeFileSync(path.join(tree, 'agent.mjs'), source)
  return {
    key: `${revisionId}.1`,
    revisionId,
    attempt: 1,
    artifact: `${revisionId}.1.1`,
    program: { kind: 'built', tree, folder: '', runs, temporary, prestart: null, start: 'exec node agent.mjs' },
    env: { PATH: process.env.PATH ?? '', HOME: root, TEXT: text },
    account: null,
    hidden: [],
    bounds: { memoryMb: null, cpus: null, processes: null, fileMb: null, diskMb: null },
    ...rest,
  }
}

/** Serves this plan at the supervisor's address. Resolves when it answers. */
export async function serve(supervised: Supervised, server: Server, plan: AgentPlan): Promise<string> {
  await server.ask({ verb: 'open', port: supervised.port, bindAddress: '127.0.0.1' })
  await server.ask({ verb: 'run', plan })
  await eventually(() => server.state().health?.ready === 1, 25_000)
  return `http://127.0.0.1:${supervised.port}`
}

export const get = async (url: string) => (await fetch(url)).text()

export const gone = (pid: number | null | undefined) => eventually(() => !alive(pid!), 20_000)
