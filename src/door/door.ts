/**
 * The door: one process that listens on the addresses of all deployments of a DATA_DIR. Keepers connect to its control socket, one
 * connection for each address. See README.md.
 */
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { buildOf, publishSocket } from '../dataplane/process/door/door-connection.ts'
import type { Certificate, DoorProgram, FromDoor, Sleeper, ToDoor } from '../dataplane/process/door/messages.ts'
import {
  type DoorConfig,
  type InheritedAddress,
  startIsOver,
  startNextDoor,
} from '../dataplane/process/door/start-door.ts'
import { type Lock, takeLock } from '../dataplane/process/processes/supervisor-locks.ts'
import type { AccessNews } from '../domain/values/access-copy.ts'
import { sleep } from '../platform/async/retry.ts'
import { resultWithin } from '../platform/async/time-limit.ts'
import { AccessLog } from './access-log.ts'
import { Address } from './address.ts'
import { CallerTokens, keyOfFolder } from './caller-tokens.ts'
import { Guard } from './guard.ts'
import { requestHealth } from './health.ts'
import { Listeners } from './listeners.ts'
import { Sleepers } from './sleepers.ts'
import { AccessStore, CertificateStore } from './stores.ts'

/** A door without clients ends after this time. */
const UNUSED_MS = 3000
/** A door that only keeps addresses of sleeping deployments ends after this time without a server. */
const UNUSED_ASLEEP_MS = 24 * 3_600_000
/** until a server asks again whether an agent may sleep, while the door can't know */
const ASK_AGAIN_MS = 10_000
/** longest wait for the keeper of an inherited address */
const CLAIM_MS = 30_000
/** A takeover waits for keepers of inherited addresses for at most 5 s, and for agents that wake for at most 60 s. */
const CLAIM_CHECK_MS = 20
const MAX_CLAIM_CHECKS = 250
const MAX_WAKE_CHECKS = 3000
/** from the start of another door until it listens */
const REPLACE_TIMEOUT_MS = 10_000
/** They may reach all processes of a service or a terminal. Keepers need the door until their agents have drained. */
const IGNORED_SIGNALS = ['SIGINT', 'SIGHUP'] as const

/** Resolves when it listens, or immediately if another door runs. It exits by itself. */
export async function runDoor(config: DoorConfig): Promise<void> {
  const { folder, inherited } = config
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => undefined)
  const note = (error: Error) => process.stderr.write(`${new Date().toISOString()} ${error.stack ?? error.message}\n`)
  process.on('uncaughtException', (error) => {
    note(error)
    process.exit(1)
  })
  // the door that started this one has the lock until this one listens
  const lock = inherited ? null : await takeLock(folder)
  if (!inherited && !lock) return void process.exit()
  const door = new Door(folder, inherited ? process.ppid : null)
  await door.inherit(inherited ?? [])
  await door.listen()
  if (inherited) process.stdout.write('ready\n')
  const held = lock ?? (await takeLock(folder))
  if (!held) return void process.exit()
  door.own(held)
  process.on('SIGTERM', () => door.leave())
  // a fault in one request must not end the others: a new process takes over, and this one completes what is open
  process.removeAllListeners('uncaughtException').on('uncaughtException', (error) => {
    note(error)
    const again: DoorProgram = { node: process.execPath, file: process.argv[1]!, folder, account: null }
    void door.replace(again).then((problem) => problem !== null && process.exit(1))
  })
}

class Door {
  #lock: Lock | null = null
  readonly #folder: string
  readonly #socket: string
  readonly #build = buildOf(process.argv[1]!)
  readonly #tokens: CallerTokens
  readonly #guard: Guard
  readonly #accessLog = new AccessLog()
  readonly #access: AccessStore
  readonly #certificates: CertificateStore
  readonly #listeners: Listeners
  readonly #clients = new Set<Client>()
  /** the door before this one; null: there was none */
  readonly #predecessor: number | null
  readonly #sleepers: Sleepers
  /** by deployment: addresses whose agents are asleep or about to wake */
  readonly #asleep = new Map<string, Address>()
  /** by deployment: addresses whose keeper has not connected yet */
  readonly #unclaimed = new Map<string, Address>()
  #unused: NodeJS.Timeout | undefined
  #unusedMs = UNUSED_MS
  /** resolves with what kept another door from taking over; null: it has */
  #replacing: Promise<string | null> | null = null
  readonly #control = net.createServer((socket) => this.#accept(socket))

  constructor(folder: string, predecessor: number | null) {
    this.#folder = folder
    this.#predecessor = predecessor
    this.#sleepers = new Sleepers(folder)
    this.#socket = path.join(folder, `${process.pid}`)
    this.#tokens = new CallerTokens(keyOfFolder(folder))
    const guard = new Guard(this.#tokens)
    this.#guard = guard
    this.#access = new AccessStore(folder, guard, this.#accessLog)
    process.once('exit', () => this.#accessLog.close())
    this.#certificates = new CertificateStore(path.join(folder, 'certificate.json'))
    this.#listeners = new Listeners(guard, this.#certificates, this.#accessLog)
  }

  /** Accepts connections on the sockets of the door before this one. Requests wait for the keepers. */
  async inherit(inherited: InheritedAddress[]): Promise<void> {
    await this.#listeners.inherit(inherited)
    for (const sleeper of this.#sleepers.all)
      this.#keepAsleep(new Address(this.#listeners, sleeper.deployment), sleeper)
    for (const { deployment, fd: _, fd6: __, ...place } of inherited)
      if (!this.#asleep.has(deployment))
        this.#unclaimed.set(deployment, Address.inherit(this.#listeners, deployment, place))
    setTimeout(() => {
      for (const address of this.#unclaimed.values()) void address.close()
      this.#unclaimed.clear()
      this.#look()
    }, CLAIM_MS).unref()
  }

  async listen(): Promise<void> {
    // of a killed door that had the same process id
    fs.rmSync(this.#socket, { force: true })
    await new Promise<void>((resolve, reject) => {
      this.#control.once('error', reject).listen(this.#socket, resolve)
    })
    // accept fails while no file descriptor is free; only that connection is lost
    this.#control.on('error', () => undefined)
    publishSocket(this.#folder, this.#socket)
    this.#look()
  }

  /** This door is the only one that new clients connect to. */
  own(lock: Lock): void {
    this.#lock = lock
    // left by doors that were killed; a door that was replaced needs none
    const left = fs.readdirSync(this.#folder).filter((name) => /^\d+$/.test(name) && name !== `${process.pid}`)
    for (const name of left) fs.rmSync(path.join(this.#folder, name), { force: true })
    startIsOver(this.#folder)
  }

  /** Ends the process as soon as no client is connected. */
  leave(): void {
    this.#unusedMs = 0
    this.#look()
  }

  #end(): void {
    this.#lock?.release()
    process.exit()
  }

  /** Ends the process when it has no use any more. */
  #look(): void {
    clearTimeout(this.#unused)
    if (this.#clients.size > 0 || this.#unclaimed.size > 0) return
    this.#unused = setTimeout(
      () => this.#end(),
      this.#unusedMs && this.#asleep.size > 0 ? UNUSED_ASLEEP_MS : this.#unusedMs,
    )
  }

  #accept(socket: net.Socket): void {
    const client = new Client(socket, {
      build: this.#build,
      addressOf: (deployment) => this.#claim(deployment),
      replace: (program) => this.replace(program),
      setCertificate: (certificate) => this.#certificates.set(certificate),
      figures: () => ({
        figures: Object.fromEntries(
          [...this.#addresses].map(([deployment, { figures }]) => {
            const workspace = this.#guard.workspaceOf(deployment)
            return [deployment, { ...figures, ...(workspace !== undefined && { workspace }) }]
          }),
        ),
        droppedLogLines: this.#accessLog.dropped,
      }),
      takeAccess: (news) => this.#takeAccess(news),
      sleep: (sleeper, idleMs) => this.#sleep(sleeper, idleMs),
      forget: (deployment) => this.#forget(deployment),
    })
    this.#clients.add(client)
    clearTimeout(this.#unused)
    socket.once('close', () => {
      this.#clients.delete(client)
      this.#look()
    })
  }

  /** The inherited address of a deployment, or a new one. */
  #claim(deployment: string): Address {
    const known = this.#asleep.get(deployment) ?? this.#unclaimed.get(deployment)
    this.#unclaimed.delete(deployment)
    return known ?? new Address(this.#listeners, deployment)
  }

  get #addresses(): Map<string, Address> {
    return new Map([...this.#asleep, ...[...this.#clients].flatMap((client) => client.address ?? [])])
  }

  #takeAccess(news: AccessNews): Pick<Answer, 'copyNeeded' | 'callerKey' | 'logProblem'> {
    const copyNeeded = !this.#access.take(news)
    // deleted while no door ran
    const known = news.copy && new Set(news.copy.deployments.map(({ id }) => id))
    if (known) for (const deployment of this.#asleep.keys()) if (!known.has(deployment)) this.#forget(deployment)
    const { problem } = this.#accessLog
    return { copyNeeded, callerKey: this.#tokens.jwk, ...(problem !== null && { logProblem: problem }) }
  }

  #sleep(sleeper: Sleeper, idleMs: number | null): Pick<Answer, 'againMs'> {
    const { deployment } = sleeper
    const address = this.#addresses.get(deployment)
    if (this.#replacing) return { againMs: ASK_AGAIN_MS }
    if (idleMs !== null && !this.#asleep.has(deployment)) {
      // clients of the door before this one may still send requests to the agent
      const quietMs = process.ppid === this.#predecessor ? null : (address?.quietMs ?? null)
      if (quietMs === null) return { againMs: Math.min(idleMs, ASK_AGAIN_MS) }
      if (quietMs < idleMs) return { againMs: idleMs - quietMs }
    }
    this.#keepAsleep(address ?? this.#claim(deployment), sleeper)
    return { againMs: null }
  }

  #keepAsleep(address: Address, sleeper: Sleeper): void {
    const { deployment } = sleeper
    const wake = () => {
      for (const client of this.#clients) if (!client.address) client.send({ say: 'wake', deployment })
    }
    address.sleep(sleeper, wake)
    address.onAwake = () => {
      this.#asleep.delete(deployment)
      this.#sleepers.remove(deployment)
      this.#look()
    }
    this.#asleep.set(deployment, address)
    this.#sleepers.add(sleeper)
    // a server that comes back learns of requests that wait
    if (address.isWaking) wake()
  }

  #forget(deployment: string | null): void {
    for (const [id, address] of this.#asleep) if (id === (deployment ?? id)) void address.remove()
  }

  /** Hands all listening sockets to a new door, and completes what is open. Returns what kept it from that. */
  async replace(program: DoorProgram): Promise<string | null> {
    this.#replacing ??= this.#replace(program).catch((error: Error) => error.message)
    const problem = await this.#replacing
    if (problem !== null) this.#replacing = null
    return problem
  }

  async #replace(program: DoorProgram): Promise<string | null> {
    // after a takeover a moment ago, keepers are on their way; requests that this door has accepted wait for them
    for (let tries = 0; this.#unclaimed.size > 0 && tries < MAX_CLAIM_CHECKS; tries++) await sleep(CLAIM_CHECK_MS)
    const isWaking = () => [...this.#asleep.values()].some((address) => address.isWaking)
    for (let tries = 0; isWaking() && tries < MAX_WAKE_CHECKS; tries++) await sleep(CLAIM_CHECK_MS)
    const sockets: number[] = []
    /** its number in the next door, where 0 to 2 are the standard streams */
    const inheritedFd = (fd: number) => 3 + (sockets.includes(fd) ? sockets.indexOf(fd) : sockets.push(fd) - 1)
    const inherited = [...this.#addresses].flatMap(([deployment, { place, fds }]): InheritedAddress[] => {
      if (!place || fds.length === 0) return []
      const [fd, fd6] = fds.map(inheritedFd)
      return [{ ...place, deployment, fd: fd!, ...(fd6 === undefined ? {} : { fd6 }) }]
    })
    const child = startNextDoor(program, { folder: this.#folder, inherited }, sockets)
    const ready = new Promise<boolean>((resolve) => {
      child.once('exit', () => resolve(false)).once('error', () => resolve(false))
      child.stdout?.once('data', () => resolve(true))
    })
    if ((await resultWithin(REPLACE_TIMEOUT_MS, ready)) !== true) {
      child.kill('SIGKILL')
      // the new door may have published its own
      publishSocket(this.#folder, this.#socket)
      return 'The new door did not start. Its error.log has the cause.'
    }
    child.stdout?.destroy()
    this.#lock?.release()
    this.#lock = null
    this.#access.follow()
    this.#listeners.handOver()
    const clients = [...this.#clients]
    const drained = [
      ...[...this.#asleep.values()].map((address) => address.handOver()),
      ...clients.map((client) => client.handOver()),
    ]
    // closes no connection, and keeps the file of the new socket
    this.#control.close()
    for (const client of clients) client.send({ say: 'replaced' })
    void Promise.all(drained).then(() => process.exit())
    return null
  }
}

type Answer = Extract<FromDoor, { say: 'answer' }>

interface ClientOptions {
  build: string
  addressOf(deployment: string): Address
  replace(program: DoorProgram): Promise<string | null>
  figures(): Pick<Answer, 'figures' | 'droppedLogLines'>
  takeAccess(news: AccessNews): Pick<Answer, 'copyNeeded' | 'callerKey' | 'logProblem'>
  sleep(sleeper: Sleeper, idleMs: number | null): Pick<Answer, 'againMs'>
  forget(deployment: string | null): void
  setCertificate(certificate: Certificate | null): void
}

/** A connection of a keeper, or of a server. */
class Client {
  readonly #socket: net.Socket
  readonly #options: ClientOptions
  #deployment: string | null = null
  #address: Address | null = null

  constructor(socket: net.Socket, options: ClientOptions) {
    this.#socket = socket
    this.#options = options
    socket.setEncoding('utf8')
    socket.on('error', () => undefined)
    // a keeper that is gone has no agent
    socket.once('close', () => void this.#address?.close(true))
    createInterface({ input: socket })
      .on('error', () => socket.destroy())
      .on('line', (line) => void this.#onRequest(line).catch(() => socket.destroy()))
  }

  send(message: FromDoor): void {
    if (this.#socket.writable) this.#socket.write(`${JSON.stringify(message)}\n`)
  }

  /** By deployment; null: the client is no keeper. */
  get address(): [deployment: string, Address][] | null {
    return this.#deployment === null || !this.#address ? null : [[this.#deployment, this.#address]]
  }

  /** Stops new connections without closing the listening socket. Resolves when no connection is left. */
  async handOver(): Promise<void> {
    await this.#address?.handOver()
    // the keeper may still ask about the last request
    this.#socket.end()
  }

  /** Throws on an invalid message. */
  async #onRequest(line: string): Promise<void> {
    const request = JSON.parse(line) as ToDoor
    const answer = await this.#perform(request)
    this.send({ say: 'answer', id: request.id, ...answer })
  }

  async #perform(request: ToDoor): Promise<Omit<Answer, 'say' | 'id'>> {
    switch (request.do) {
      case 'hello':
        this.#greet(request.deployment)
        return { build: this.#options.build, pid: process.pid }
      case 'health':
        return { health: await requestHealth(request.port, request.path) }
      case 'replace': {
        const problem = await this.#options.replace(request.program)
        return problem === null ? {} : { problem }
      }
      case 'certificate':
        this.#options.setCertificate(request.certificate)
        return {}
      case 'figures':
        return this.#options.figures()
      case 'access':
        return this.#options.takeAccess(request.news)
      case 'sleep':
        return this.#options.sleep(request.sleeper, request.idleMs)
      case 'forget':
        this.#options.forget(request.deployment)
        return {}
      case 'apply':
        this.#address?.apply(request.state)
        return {}
      case 'idle':
        await this.#address?.idle(request.upstream)
        return {}
      case 'close':
        await this.#address?.close()
        return {}
    }
  }

  #greet(deployment: string | null): void {
    if (deployment === null || this.#address) return
    this.#deployment = deployment
    this.#address = this.#options.addressOf(deployment)
    this.#address.onListening = (port, problem) => this.send({ say: 'listening', port, problem })
    this.#address.onServed = () => this.send({ say: 'served' })
  }
}
