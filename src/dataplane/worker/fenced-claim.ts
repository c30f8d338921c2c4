/** A claim with its fencing token, raised when agents know a newer one. Calls with the old token are repeated. */
import { ClaimLostError } from '../../domain/errors/errors.ts'
import type { Claim, CompleteRequest, ControlPlane } from '../../domain/protocol/protocol.ts'

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
