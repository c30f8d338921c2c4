/** Leased claims and their steps, for metrics. */
import type { Assignment, Claim } from '../domain/protocol/protocol.ts'

interface Lease {
  /** performance.now() when the lease expires */
  leasedUntil: number
  step: { id: string; kind: string } | null
}

export class LeasedClaims {
  readonly #claims = new Map<string, Lease>()

  count(): number {
    const now = performance.now()
    for (const [claimId, { leasedUntil }] of this.#claims) if (leasedUntil < now) this.#claims.delete(claimId)
    return this.#claims.size
  }

  add(claim: Claim, leasedUntil: number): void {
    this.#claims.set(claim.claimId, { leasedUntil, step: null })
    this.assigned(claim.claimId, claim)
  }

  renewed(claimId: string, leasedUntil: number): void {
    const leased = this.#claims.get(claimId)
    if (leased) leased.leasedUntil = leasedUntil
  }

  /** Keeps a withdrawn step, because its end is still to be reported. */
  assigned(claimId: string, { step }: Assignment): void {
    const leased = this.#claims.get(claimId)
    if (leased && step) leased.step = { id: step.id, kind: step.kind }
  }

  drop(claimId: string): void {
    this.#claims.delete(claimId)
  }

  /** Kind of the claim's step; undefined: the step belongs to another claim. */
  kindOf(claimId: string, stepId: string): string | undefined {
    const step = this.#claims.get(claimId)?.step
    return step?.id === stepId ? step.kind : undefined
  }
}
