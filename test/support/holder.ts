/** A scripted holder: claims and completes through the real protocol, when the test says so. */
import { randomUUID } from 'node:crypto'
import type { Claim, CompleteRequest, ControlPlane, HeartbeatItem, Step } from '../../src/domain/protocol/protocol.ts'

/** The report of a successful worker for each kind of step. */
export function successOf(step: Step): Partial<CompleteRequest> {
  if (step.kind === 'BUILD')
    return { repoCommitSha: 'c0ffee'.padEnd(40, '0'), artifact: `artifact-${step.revision!.id}` }
  if (step.kind === 'DEPLOY') return { url: 'http://127.0.0.1:3100', imageVersion: '1.0.0' }
  return {}
}

/** Claims this deployment and releases all others that were free. */
export async function claimOne(plane: ControlPlane, deploymentId: string, leaseSeconds = 60): Promise<Claim> {
  const claims = await plane.claim({ holder: randomUUID(), max: 1000, leaseSeconds })
  const mine = claims.find((claim) => claim.deployment.id === deploymentId)
  for (const claim of claims) if (claim !== mine) await plane.release(claim)
  if (!mine) throw new Error('the deployment was not to be had')
  return mine
}

type Held = Pick<Claim, 'claimId' | 'token'>

/** Reports the end of a step. */
export const report = (
  plane: ControlPlane,
  { claimId, token }: Held,
  step: Pick<Step, 'id'>,
  outcome: CompleteRequest['outcome'],
  more: Partial<CompleteRequest> = {},
) => plane.complete({ claimId, token, stepId: step.id, outcome, ...more })

export const succeed = (plane: ControlPlane, claim: Held, step: Step) =>
  report(plane, claim, step, 'succeeded', successOf(step))

/** The answer to a heartbeat of one claim. */
export async function beat(plane: ControlPlane, { claimId, token }: Held, more: Partial<HeartbeatItem> = {}) {
  const [answer] = await plane.heartbeat({ leaseSeconds: 60, claims: [{ claimId, token, ...more }] })
  return answer!
}

/** Completes every step of a claim with success until there is none. Returns the kinds of the steps. */
export async function workOff(plane: ControlPlane, claim: Claim): Promise<string[]> {
  const done: string[] = []
  let step = claim.step
  while (step) {
    done.push(step.kind)
    step = (await succeed(plane, claim, step)).assignment.step
  }
  return done
}

/** Claims everything, completes it and releases it: a healthy data plane. */
export async function settle(plane: ControlPlane): Promise<void> {
  for (;;) {
    const claims = await plane.claim({ holder: randomUUID(), max: 100, leaseSeconds: 60 })
    const worked = await Promise.all(claims.map((claim) => workOff(plane, claim)))
    for (const claim of claims) await plane.release(claim).catch(() => {}) // a torn-down deployment has nothing to release
    if (worked.every((kinds) => kinds.length === 0)) return
  }
}
