/** A scripted control plane for one deployment: sends the test's assignments and records the calls. */
import { ClaimLostError } from '../../src/domain/errors/errors.ts'
import type {
  Assignment,
  Claim,
  CompleteAnswer,
  CompleteRequest,
  ControlPlane,
  HeartbeatAnswer,
} from '../../src/domain/protocol/protocol.ts'
import { createNotifier } from '../../src/platform/async/notifier.ts'
import { sleep } from '../../src/platform/async/retry.ts'
import { claimOf, eventually } from './support.ts'

export interface ScriptedControlPlane extends ControlPlane {
  claim1: Claim
  completed: CompleteRequest[]
  logged: string[]
  released: string[]
  releasedHolders: string[]
  heartbeats: number
  /** every call throws this while set, as during an outage of the database */
  outage: Error | null
  /** how often `complete` was called during an outage */
  refused: number
  /** the claim belongs to another worker */
  lost: boolean
  /** Changes the assignment and wakes the worker. */
  assign(changes: Partial<Assignment>): void
  /** The next assignment after a completed step; default: none. */
  next: (request: CompleteRequest) => Partial<Assignment>
  done(stepId: string): Promise<CompleteRequest>
}

export function scriptedControlPlane(assignment: Partial<Claim> = {}): ScriptedControlPlane {
  const claim1 = claimOf(assignment)
  const notifier = createNotifier()
  let claimed = false
  const check = () => {
    if (plane.outage) throw plane.outage
  }
  const current = (): Assignment => {
    const { generation, run, step, stop, keepArtifacts } = claim1
    return { generation, run, step, stop, keepArtifacts }
  }
  const plane: ScriptedControlPlane = {
    claim1,
    completed: [],
    logged: [],
    released: [],
    releasedHolders: [],
    heartbeats: 0,
    outage: null,
    refused: 0,
    lost: false,
    next: () => ({ step: null }),
    assign(changes) {
      Object.assign(claim1, changes, { generation: claim1.generation + 1 })
      notifier.notify(null)
    },
    done: (stepId) => eventually(() => plane.completed.find((request) => request.stepId === stepId)!, 50_000),

    async claim({ leaseSeconds, waitSeconds = 0 }, signal) {
      check()
      if (claimed) {
        await sleep(waitSeconds * 1000, signal)
        return []
      }
      claimed = true
      return [{ ...claim1, leaseSeconds }]
    },
    async heartbeat({ claims, waitSeconds = 0 }, signal): Promise<HeartbeatAnswer[]> {
      check()
      plane.heartbeats++
      const seen = notifier.mark(null)
      if (claims.every(({ generation }) => generation === claim1.generation))
        await notifier.wait(null, seen, waitSeconds * 1000, signal)
      check()
      return claims.map(({ claimId, generation }) => ({
        claimId,
        lost: plane.lost,
        assignment: generation === claim1.generation ? null : current(),
      }))
    },
    async logs({ entries }) {
      check()
      plane.logged.push(...entries.map(({ message }) => message))
    },
    async complete(request): Promise<CompleteAnswer> {
      if (plane.outage) plane.refused++
      check()
      if (plane.lost) throw new ClaimLostError()
      const recorded = claim1.step?.id === request.stepId
      plane.completed.push(request)
      plane.assign({ stop: false, ...plane.next(request) })
      return { recorded, assignment: current() }
    },
    async release({ claimId }) {
      check()
      plane.released.push(claimId)
    },
    async releaseHolder(holder) {
      plane.releasedHolders.push(holder)
    },
  }
  return plane
}
