/**
 * A claim and its fencing token, which is raised when a newer one was seen where the agents are. Calls that were on their way
 * meanwhile named the old one: that they are refused does not mean that the claim is lost.
 */
import { ClaimLostError } from '../../domain/errors/errors.ts'
import type { Claim, CompleteRequest, ControlPlane } from '../../domain/protocol/protocol.ts'

/** How a call names the claim. */
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

  /** Raises the token above one that was `seen`. Throws ClaimLostError. */
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

  /** Makes a call under this claim; again if its token was raised meanwhile. Throws ClaimLostError. */
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

  /** Throws as `call`, and whatever else the control plane does. */
  complete(report: Omit<CompleteRequest, keyof ClaimName>): ReturnType<ControlPlane['complete']> {
    return this.call((claim) => this.#controlPlane.complete({ ...claim, ...report }))
  }

  /** Throws as `complete`. */
  release(): Promise<void> {
    return this.call((claim) => this.#controlPlane.release(claim))
  }

  /** Whether that is its token, once those are raised that are just being raised. */
  async isCurrent(token: string): Promise<boolean> {
    await this.#raising
    return token === this.#token
  }

  get #name(): ClaimName {
    return { claimId: this.#claimId, token: this.#token }
  }
}
