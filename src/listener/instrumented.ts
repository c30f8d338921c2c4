/** Counts calls and tracks availability. Before the first response no call waits for news, to detect a return early. */
import { ClaimLostError } from '../domain/errors/errors.ts'
import type { ControlPlane } from '../domain/protocol/protocol.ts'
import { ControlPlaneRefused } from './errors.ts'
import type { LeasedClaims } from './leased-claims.ts'
import type { ListenerMetrics } from './metrics.ts'
import type { Status } from './status.ts'

export interface Observers {
  metrics: Pick<ListenerMetrics, 'steps' | 'calls'>
  status: Status
  leased: LeasedClaims
}

export function instrumented(plane: ControlPlane, { metrics, status, leased }: Observers): ControlPlane {
  async function watch<T>(call: string, work: Promise<T>, signal?: AbortSignal): Promise<T> {
    const end = metrics.calls.startTimer({ call })
    try {
      const answer = await work
      end({ outcome: 'ok' })
      status.answered()
      return answer
    } catch (error) {
      if (error instanceof ClaimLostError) {
        end({ outcome: 'claim_lost' })
        status.answered()
      } else if (signal?.aborted && (error as Error).name === 'AbortError') end({ outcome: 'given_up' })
      else {
        end({ outcome: error instanceof ControlPlaneRefused ? 'refused' : 'unreachable' })
        status.failed((error as Error).message)
      }
      throw error
    }
  }

  async function ofClaim<T>(call: string, claimId: string, work: Promise<T>): Promise<T> {
    try {
      return await watch(call, work)
    } catch (error) {
      if (error instanceof ClaimLostError) leased.drop(claimId)
      throw error
    }
  }

  const patient = <R extends { waitSeconds?: number }>(request: R): R =>
    status.problem() === null ? request : { ...request, waitSeconds: 0 }

  return {
    async claim(request, signal) {
      const since = performance.now()
      const claims = await watch('claim', plane.claim(patient(request), signal), signal)
      for (const claim of claims) leased.add(claim, since + claim.leaseSeconds * 1000)
      return claims
    },
    async heartbeat(request, signal) {
      const since = performance.now()
      const answers = await watch('heartbeat', plane.heartbeat(patient(request), signal), signal)
      for (const { claimId, lost, assignment } of answers) {
        if (lost) leased.drop(claimId)
        else leased.renewed(claimId, since + request.leaseSeconds * 1000)
        if (assignment) leased.assigned(claimId, assignment)
      }
      return answers
    },
    logs: (request) => ofClaim('logs', request.claimId, plane.logs(request)),
    async complete(request) {
      const { claimId, stepId, outcome } = request
      const answer = await ofClaim('complete', claimId, plane.complete(request))
      const kind = leased.kindOf(claimId, stepId)
      // a withdrawn step is already closed when its end is reported
      const counts = answer.recorded || outcome === 'stopped'
      if (kind) metrics.steps.inc({ kind, outcome: counts ? outcome : 'too_late' })
      if (answer.over) leased.drop(claimId)
      else leased.assigned(claimId, answer.assignment)
      return answer
    },
    async release(claim) {
      await ofClaim('release', claim.claimId, plane.release(claim))
      leased.drop(claim.claimId)
    },
    releaseHolder: (holder) => plane.releaseHolder(holder),
  }
}
