/**
 * A claim with its fencing token, raised when agents know a newer one. Calls with the old token are repeated. Also its lease and
 * its latest assignment; step deadlines count from the arrival of the assignment, by this process's clock.
 */
import { ClaimLostError } from '../../domain/errors/errors.ts'
import type { Assignment, Claim, CompleteRequest, ControlPlane, Step } from '../../domain/protocol/protocol.ts'
import type { TimedStep } from '../runtimes/runtime.ts'

export interface ClaimName {
  claimId: string
  token: string
}

type Calls = Pick<ControlPlane, 'raiseToken' | 'complete' | 'release'>

export class FencedClaim {
  readonly #controlPlane: Calls
  readonly #claimId: string
  #token: string
  #raising: Promise<void> = Promise.resolve()

  constructor(controlPlane: Calls, { claimId, token }: Claim) {
    this.#controlPlane = controlPlane
    this.#claimId = claimId
    this.#token = token
  }

  get token(): string {
    return this.#token
  }

  /** Raises the token above `seen`. Throws ClaimLostError. */
  async raise(seen: string): Promise<void> {
    const raise = async () => {
      if (BigInt(this.#token) > BigInt(seen)) return
      const raised = await this.#controlPlane.raiseToken?.(this.#name, seen)
      if (raised === undefined) throw new ClaimLostError()
      this.#token = raised
    }
    const raising = this.#raising.then(raise)
    this.#raising = raising.catch(() => undefined)
    await raising
  }

  /** Makes a call, and repeats it if the token was raised during it. Throws ClaimLostError. */
  async call<A>(work: (claim: ClaimName) => Promise<A>): Promise<A> {
    for (;;) {
      const name = this.#name
      try {
        return await work(name)
      } catch (error) {
        if (!(error instanceof ClaimLostError) || (await this.isCurrent(name.token))) throw error
      }
    }
  }

  /** Throws ClaimLostError, and the control plane's errors. */
  complete(report: Omit<CompleteRequest, keyof ClaimName>): ReturnType<ControlPlane['complete']> {
    return this.call((claim) => this.#controlPlane.complete({ ...claim, ...report }))
  }

  release(): Promise<void> {
    return this.call((claim) => this.#controlPlane.release(claim))
  }

  /** Waits for a pending raise, then returns whether `token` is current. */
  async isCurrent(token: string): Promise<boolean> {
    await this.#raising
    return token === this.#token
  }

  get #name(): ClaimName {
    return { claimId: this.#claimId, token: this.#token }
  }
}

/** Keeps the latest assignment and its arrival time. Step deadlines count from then, by this process's clock. */
export class LatestAssignment {
  #assignment: Assignment
  #at = performance.now()

  constructor(first: Assignment) {
    this.#assignment = first
  }

  get assignment(): Assignment {
    return this.#assignment
  }

  /** Keeps the assignment with the larger generation. `also`: accepts an equal generation. False: it is older. */
  take(assignment: Assignment, also: 'the same' | null = null): boolean {
    const newer = assignment.generation - this.#assignment.generation
    if (newer < 0 || (newer === 0 && !also)) return false
    this.#assignment = assignment
    this.#at = performance.now()
    return true
  }

  /** Adds the deadline to a step: its remaining time counts from the arrival. */
  timed(step: Step): TimedStep {
    return { ...step, deadline: this.#at + step.secondsLeft * 1000 }
  }
}

/** ms by which a timer may fire early */
const TIMER_EARLY_MS = 2

/** The lease of a claim, by this process's clock. It is given up shortly before it expires. */
export class Lease {
  readonly #onEnd: () => void
  /** performance.now() when the lease is given up */
  #end = 0
  #timer: NodeJS.Timeout | null = null

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  get left(): number {
    return this.#end - performance.now()
  }

  /** Extends the lease to `seconds` after `since` (performance.now()). */
  renewed(since: number, seconds: number): void {
    this.stop()
    // the steps must have ended before another worker may claim the deployment
    const margin = Math.min(5000, seconds * 250)
    this.#end = since + seconds * 1000 - margin
    const giveUp = () => {
      if (this.left <= TIMER_EARLY_MS) this.#onEnd()
    }
    // after a stall, the renewing response may have arrived but not been read yet
    this.#timer = setTimeout(() => setImmediate(giveUp), Math.max(0, this.left))
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer)
  }
}
