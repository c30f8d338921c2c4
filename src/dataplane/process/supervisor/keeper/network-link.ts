/** The keeper's end of the channel to its network process. Restarts that process when it dies. */
import { type ChildProcess, spawn } from 'node:child_process'
import { backoff, sleep } from '../../../../platform/async/retry.ts'
import { resultWithin } from '../../../../platform/async/time-limit.ts'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import type { FromNetwork, HealthAnswer, NetworkRequest, NetworkState, ToNetwork } from '../network/messages.ts'

/** a network process that ran this long counts as healthy: the back-off starts again */
const RECOVERED_MS = 10_000
/** longest wait for the network process to apply a state; a restarted one gets the state first */
const APPLIED_MS = 10_000
/** longest time that a network process takes to close */
const CLOSE_MS = 2000
/** Limits V8's young generation (MB): V8 does not give back what a burst of requests made it grow by. */
const MEMORY_OPTIONS = ['--max-semi-space-size=2']

export interface NetworkLinkOptions {
  /** null: the keeper's account */
  account: Account | null
  env: Record<string, string>
  /** Called when the address was opened, and when that failed. `problem`: an error code; null: it is open. */
  onListening(port: number, problem: string | null): void
  onServed(): void
  onLost(how: string): void
}

export class NetworkLink {
  /** absolute path of Node for the next start; the one that started this keeper may have been uninstalled */
  node = process.execPath
  readonly #options: NetworkLinkOptions
  readonly #closing = new AbortController()
  readonly #pending = new Map<number, (answer: HealthAnswer | null) => void>()
  #child: ChildProcess | null = null
  #state: NetworkState = { address: null, upstream: null, held: false, ending: [] }
  #lastId = 0

  constructor(options: NetworkLinkOptions) {
    this.#options = options
    void this.#restartLoop()
  }

  /** Resolves when the network process has applied the changes. A restarted one gets the whole state first. */
  async setState(changes: Partial<NetworkState>): Promise<void> {
    this.#state = { ...this.#state, ...changes }
    await resultWithin(APPLIED_MS, this.#request({ do: 'apply', state: this.#state }))
  }

  /** The status of a GET of `path` on that port of the loopback. */
  async requestHealth(port: number, path: string): Promise<HealthAnswer> {
    return (await this.#request({ do: 'health', port, path })) ?? { host: '127.0.0.1', status: null }
  }

  /** Resolves when nothing is in flight to that upstream. */
  async idle(upstream: string): Promise<void> {
    await this.#request({ do: 'idle', upstream })
  }

  /** Stops new connections. The network process is not restarted any more. */
  leave(): void {
    this.#closing.abort()
    void this.setState({ address: null })
  }

  /** Ends the network process and its requests in flight. */
  async close(): Promise<void> {
    this.leave()
    await resultWithin(CLOSE_MS, this.#request({ do: 'close' }))
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
    void this.setState({})
    return new Promise((resolve) => {
      child.on('error', ({ message }) => resolve(message))
      child.once('exit', (code, signal) => resolve(signal ? `ended by ${signal}` : `exit code ${code}`))
    }).then((how) => {
      if (this.#child === child) this.#child = null
      // a process that is gone has no requests in flight, and can't send any to an earlier upstream
      for (const resolve of this.#pending.values()) resolve(null)
      this.#pending.clear()
      return how as string
    })
  }

  #onMessage(message: FromNetwork): void {
    if (message.say === 'answer') {
      this.#pending.get(message.id)?.(message.health)
      this.#pending.delete(message.id)
    } else if (message.say === 'served') this.#options.onServed()
    else this.#options.onListening(message.port, message.problem)
  }

  /** Null: the answer to another request than `health`, or no network process runs (any more). */
  #request(request: NetworkRequest): Promise<HealthAnswer | null> {
    return new Promise((resolve) => {
      if (!this.#child?.connected) return resolve(null)
      const id = ++this.#lastId
      this.#pending.set(id, resolve)
      this.#child.send({ ...request, id } satisfies ToNetwork, () => undefined)
    })
  }
}
