/** Long polls (docs/api-rules.md#waiting). They read once, and again after an event; equal polls share a read. */
import { backoff, sleep } from '../../platform/async/retry.ts'
import { AbortScope } from '../../platform/async/time-limit.ts'
import type { Change, ChangeScope, ChangeSource, ChangeWatch } from '../concurrency/change-watch.ts'
import { takeSlot } from '../concurrency/concurrency-limit.ts'
import { databaseFailure } from '../errors/database-error.ts'
import { isTerminal } from '../values/lifecycle.ts'
import type { RequestContext } from './context.ts'

/** Whether the change ended a revision's work. */
export const hasEnded = ({ toStatus }: Change): boolean => toStatus !== null && isTerminal(toStatus)

export interface Wait<T> {
  seconds: number // 0 to 60
  scope: ChangeScope
  /** names the result of `read` within the workspace, for any caller */
  key: string
  read(): Promise<T>
  /** whether to read again after this change; if in doubt, true */
  wakes(change: Change): boolean
  done(found: T): boolean
}

const MIN_PAUSE_MS = 50
const MAX_PAUSE_MS = 2_000

/**
 * Reads until `done`, and returns the last result when the time is up or the server stops. During a database outage it
 * keeps waiting, and throws the error when the time is up. Throws what `read` throws, RATE_LIMITED if too many calls
 * wait, and UnauthenticatedError if the credential ends.
 */
export async function waitUntil<T>(ctx: RequestContext, wait: Wait<T>): Promise<T> {
  const { changes } = ctx
  if (wait.seconds === 0 || !changes) return wait.read()
  const waiting = new Waiting(ctx, changes, wait)
  try {
    return await waiting.run()
  } finally {
    waiting.end()
  }
}

class Waiting<T> {
  readonly #ctx: RequestContext
  readonly #changes: ChangeSource
  readonly #wait: Wait<T>
  readonly #watch: ChangeWatch
  readonly #timer: NodeJS.Timeout
  readonly #held: (() => void)[] = []
  /** aborts at the end of the wait: time is up, server stops, client disconnected or credential ended */
  readonly #over = new AbortController()
  #due = false
  #refused: Error | null = null
  #wake: (() => void) | null = null

  constructor(ctx: RequestContext, changes: ChangeSource, wait: Wait<T>) {
    this.#ctx = ctx
    this.#changes = changes
    this.#wait = wait
    this.#timer = setTimeout(this.#finish, wait.seconds * 1000)
    // watch before the first read, so no change is missed
    this.#watch = changes.watch(ctx.workspace.id, wait.scope, {
      onChange: (change) => {
        if (!wait.wakes(change)) return
        this.#due = true
        this.#wake?.()
      },
      onStop: this.#finish,
    })
    ctx.client?.gone.addEventListener('abort', this.#finish)
    if (ctx.client?.gone.aborted) this.#finish()
  }

  async run(): Promise<T> {
    await this.#ready()
    let found = await this.#look()
    if (this.#isDone(found)) return found
    this.#held.push(takeSlot(this.#ctx, 'waits'))
    const unwatch = this.#ctx.credentials?.watch(this.#ctx, (error) => {
      this.#refused = error
      this.#finish()
    })
    if (unwatch) this.#held.push(unwatch)
    for (let failures = 0; ; ) {
      await this.#woken()
      // the client has disconnected
      if (this.#ctx.client?.gone.aborted) return found
      try {
        found = await this.#look()
        if (this.#isDone(found)) return found
        failures = 0
      } catch (error) {
        if (this.#over.signal.aborted || databaseFailure(error) === null) throw error
        this.#due = true
        await sleep(backoff(failures++, MIN_PAUSE_MS, MAX_PAUSE_MS, 0.5), this.#over.signal)
      }
    }
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#watch.close()
    this.#ctx.client?.gone.removeEventListener('abort', this.#finish)
    for (const release of this.#held.splice(0)) release()
  }

  readonly #finish = (): void => {
    this.#over.abort()
    this.#wake?.()
  }

  #isDone(found: T): boolean {
    return this.#over.signal.aborted || this.#wait.done(found)
  }

  async #look(): Promise<T> {
    if (this.#refused) throw this.#refused
    this.#due = false
    const found = await this.#changes.shared(`${this.#ctx.workspace.id} ${this.#wait.key}`, this.#wait.read)
    if (this.#refused) throw this.#refused
    return found
  }

  /** Resolves when no later change can be missed, or the wait is over. */
  async #ready(): Promise<void> {
    const over = this.#woken()
    await Promise.race([this.#watch.ready, over])
    this.#wake?.()
  }

  /** Resolves when a read is due or the wait is over. */
  async #woken(): Promise<void> {
    if (this.#due || this.#over.signal.aborted) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    this.#wake = null
  }
}

/** `work` polls until `signal` aborts, and calls `enter` before it waits. Throws UnauthenticatedError. */
export async function whileValid<T, Leave extends (() => void) | null>(
  ctx: RequestContext,
  take: () => Leave,
  work: (signal: AbortSignal, enter: () => (() => void) | (Leave & null)) => Promise<T>,
): Promise<T> {
  const scope = new AbortScope(ctx.client?.gone)
  let refused: Error | null = null
  const enter = () => {
    const leave = take()
    if (!leave) return leave as Leave & null
    const unwatch = ctx.credentials?.watch(ctx, (error) => {
      refused = error
      scope.abort(error)
    })
    return () => {
      unwatch?.()
      leave()
    }
  }
  try {
    const found = await work(scope.signal, enter)
    if (refused) throw refused
    return found
  } finally {
    scope.end()
  }
}
