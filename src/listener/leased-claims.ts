/** The claims that this listener was leased, and the step of each, for the metrics. */
import type { Assignment, Claim } from '../domain/protocol/protocol.ts'

interface Lease {
  /** performance.now() */
  leasedUntil: number
  step: { id: string; kind: string } | null
}

export class LeasedClaims {
  readonly #claims = new Map<string, Lease>()

  /** How many have a lease that is not over. */
  count(): number {
    const now = performance.now()
    for (const [claimId, { leasedUntil }] of this.#claims) if (leasedUntil < now) this.#claims.delete(claimId)
    return this.#claims.size
  }

  /** `leasedUntil`: performance.now() */
  add(claim: Claim, leasedUntil: number): void {
    this.#claims.set(claim.claimId, { leasedUntil, step: null })
    this.assigned(claim.claimId, claim)
  }

  renewed(claimId: string, leasedUntil: number): void {
    const leased = this.#claims.get(claimId)
    if (leased) leased.leasedUntil = leasedUntil
  }

  /** A step that was withdrawn is kept: its end is still to be reported. */
  assigned(claimId: string, { step }: Assignment): void {
    const leased = this.#claims.get(claimId)
    if (leased && step) leased.step = { id: step.id, kind: step.kind }
  }

  drop(claimId: string): void {
    this.#claims.delete(claimId)
  }

  /** Kind of the step that this claim was given; undefined: it is another one's. */
  kindOf(claimId: string, stepId: string): string | undefined {
    const step = this.#claims.get(claimId)?.step
    return step?.id === stepId ? step.kind : undefined
  }
}
