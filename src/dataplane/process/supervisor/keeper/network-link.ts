/** The keeper's end of the channel to its network process. Restarts that process when it dies. */
import { type ChildProcess, spawn } from 'node:child_process'
import { backoff, sleep } from '../../../../platform/async/retry.ts'
import { resultWithin } from '../../../../platform/async/time-limit.ts'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import type { FromNetwork, NetworkState, ToNetwork } from '../network/messages.ts'

/** a network process that ran this long counts as healthy: the back-off starts again */
const RECOVERED_MS = 10_000
/** longest wait for the network process to apply a state; a restarted one gets the state first */
const APPLIED_MS = 10_000
/** longest time that a network process takes to close */
const CLOSE_MS = 2000
/** Limits V8's young generation (MB): V8 does not give back what a burst of requests made it grow by. */
const MEMORY_OPTIONS = ['--max-semi-space-size=2']

export interface HealthAnswer {
  host: string
  /** null: no answer */
  status: number | null
}

export interface NetworkLinkOptions {
  /** null: the keeper's account */
  account: Account | null
  env: Record<string, string>
  /** Called when the address was opened, and when that failed. */
  onListening(): void
  onServed(): void
  onLost(how: string): void
}

export class NetworkLink {
  /** absolute path of Node for the next start; the one that started this keeper may have been uninstalled */
  node = process.execPath
  readonly #options: NetworkLinkOptions
  readonly #closing = new AbortController()
  readonly #answers = new Map<number, (answered: HealthAnswer) => void>()
  readonly #idle = new Map<string, Set<() => void>>()
  readonly #checks = new Set<() => void>()
  #child: ChildProcess | null = null
  #state: NetworkState = { address: null, upstream: null, held: false, ending: [] }
  #version = 0
  #applied = 0
  #lastId = 0
  #listening: { port: number; problem: string | null } | null = null
  #tries = 0
  #closed: () => void = () => undefined

  constructor(options: NetworkLinkOptions) {
    this.#options = options
    void this.#restartLoop()
  }

  /** The port, and what keeps it from being opened; null: not known yet. */
  get listening(): { port: number; problem: string | null; tries: number } | null {
    return this.#listening && { ...this.#listening, tries: this.#tries }
  }

  /** Resolves when the network process has applied the changes, or when a restarted one will apply them first. */
  async setState(changes: Partial<NetworkState>): Promise<void> {
    this.#state = { ...this.#state, ...changes }
    const version = ++this.#version
    const sent = this.#apply()
    // after `leave` no network process is started again
    if (!sent && this.#closing.signal.aborted) return
    await resultWithin(
      APPLIED_MS,
      this.#waitFor(() => this.#applied >= version),
    )
  }

  /** Resolves when the address is open. */
  opened(port: number): Promise<void> {
    return this.#waitFor(() => this.#listening?.port === port && this.#listening.problem === null)
  }

  /** The status of a GET of `path` on that port of the loopback. */
  requestHealth(port: number, path: string): Promise<HealthAnswer> {
    const id = ++this.#lastId
    return new Promise((resolve) => {
      this.#answers.set(id, resolve)
      if (!this.#send({ do: 'ask', id, port, path })) this.#answered(id, { host: '127.0.0.1', status: null })
    })
  }

  /** Resolves when nothing is in flight to that upstream. */
  idle(upstream: string): Promise<void> {
    return new Promise((resolve) => {
      const others = this.#idle.get(upstream)
      if (others) return void others.add(resolve)
      this.#idle.set(upstream, new Set([resolve]))
      // without a network process no connection is left
      if (!this.#send({ do: 'watch', upstream })) this.#isIdle(upstream)
    })
  }

  /** Stops new connections. The network process is not restarted any more. */
  leave(): void {
    this.#closing.abort()
    void this.setState({ address: null })
  }

  /** Ends the network process and its requests in flight. */
  async close(): Promise<void> {
    this.leave()
    const closed = new Promise<void>((resolve) => {
      this.#closed = resolve
    })
    if (this.#send({ do: 'close' })) await resultWithin(CLOSE_MS, closed)
    const child = this.#child
    this.#child = null
    child?.kill('SIGKILL')
  }

  async #restartLoop(): Promise<void> {
    const { signal } = this.#closing
    for (let failures = 0; !signal.aborted; ) {
      const since = performance.now()
      const how = await this.#run()
      if (signal.aborted) return
      failures = performance.now() - since > RECOVERED_MS ? 0 : failures + 1
      this.#options.onLost(how)
      await sleep(failures > 1 ? backoff(failures - 2, 200, 10_000) : 0, signal)
    }
  }

  /** Runs one network process. Resolves with a description of its end. */
  #run(): Promise<string> {
    const { account, env } = this.#options
    const child = spawn(this.node, [...MEMORY_OPTIONS, ...process.execArgv, process.argv[1]!, 'network'], {
      cwd: '/',
      env,
      ...(account ? { uid: account.uid, gid: account.gid } : {}),
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    this.#child = child
    child.on('message', (message: FromNetwork) => this.#onMessage(message))
    this.#apply()
    return new Promise((resolve) => {
      child.on('error', ({ message }) => resolve(message))
      child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `exit code ${code}`))
    }).then((how) => {
      if (this.#child === child) this.#child = null
      this.#listening = null
      for (const id of [...this.#answers.keys()]) this.#answered(id, { host: '127.0.0.1', status: null })
      for (const upstream of [...this.#idle.keys()]) this.#isIdle(upstream)
      this.#closed()
      return how as string
    })
  }

  #onMessage(message: FromNetwork): void {
    switch (message.said) {
      case 'applied':
        this.#applied = message.version
        break
      case 'listening': {
        const { port, problem } = message
        this.#tries = problem === null ? 0 : this.#tries + 1
        this.#listening = { port, problem }
        this.#options.onListening()
        break
      }
      case 'answered':
        this.#answered(message.id, message)
        break
      case 'served':
        this.#options.onServed()
        break
      case 'idle':
        this.#isIdle(message.upstream)
        break
      case 'closed':
        this.#closed()
        break
    }
    for (const check of this.#checks) check()
  }

  #answered(id: number, { host, status }: HealthAnswer): void {
    this.#answers.get(id)?.({ host, status })
    this.#answers.delete(id)
  }

  #isIdle(upstream: string): void {
    for (const resolve of this.#idle.get(upstream) ?? []) resolve()
    this.#idle.delete(upstream)
  }

  #apply(): boolean {
    return this.#send({ do: 'apply', version: this.#version, wanted: this.#state })
  }

  /** False: no network process runs. */
  #send(message: ToNetwork): boolean {
    if (!this.#child?.connected) return false
    this.#child.send(message, () => undefined)
    return true
  }

  #waitFor(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = () => {
        if (!holds()) return
        this.#checks.delete(check)
        resolve()
      }
      this.#checks.add(check)
      check()
    })
  }
}
