/**
 * A listener as the control plane sees it: it claims everything, over either server, and completes each step
 * immediately, mostly with success. Unanswered calls are repeated.
 */
import { pino } from 'pino'
import { ClaimLostError } from '../../../src/domain/errors/errors.ts'
import type { Claim, Step } from '../../../src/domain/protocol/protocol.ts'
import { type RemoteControlPlane, remoteControlPlane } from '../../../src/listener/control-plane.ts'
import type { Place } from './place.ts'
import type { Random } from './random.ts'
import { pause } from './waiting.ts'

/** in s */
const LEASE_SECONDS = 5
/** Timeout in ms: a paused server does not answer. */
const CALL_TIMEOUT_MS = 2000
/** One deploy in this many fails. */
const ONE_FAILURE_IN = 10

export interface Holder {
  stop(): Promise<void>
}

export function startHolder(place: Place, of: { listenerId: string; key: string }, random: Random): Holder {
  const planes = place.servers.map((server) => ({
    server,
    plane: remoteControlPlane({
      url: server.direct,
      apiKey: of.key,
      listenerId: of.listenerId,
      callMs: CALL_TIMEOUT_MS,
      log: pino({ level: 'silent' }),
    }),
  }))
  const stopping = new AbortController()
  const { signal } = stopping

  function plane(): RemoteControlPlane {
    const up = planes.filter(({ server }) => server.state === 'up')
    return random.one(up.length > 0 ? up : planes).plane
  }

  async function claimAll(): Promise<void> {
    const working = new Set<Promise<void>>()
    while (!signal.aborted) {
      try {
        const claims = await plane().claim(
          { holder: 'chaos', max: 100, leaseSeconds: LEASE_SECONDS, waitSeconds: 1 },
          signal,
        )
        for (const claim of claims) {
          const done: Promise<void> = work(claim).finally(() => working.delete(done))
          working.add(done)
        }
      } catch {
        await pause(100)
      }
    }
    await Promise.all(working)
  }

  /** Works on a claim until it is lost or the holder stops. */
  async function work(claim: Claim): Promise<void> {
    const { claimId, token } = claim
    let { step, generation } = claim
    while (!signal.aborted) {
      try {
        if (step) {
          const report = { claimId, token, stepId: step.id, ...outcome(step, random) }
          ;({ step, generation } = (await plane().complete(report)).assignment)
        } else {
          const claims = [{ claimId, token, generation }]
          const [answer] = await plane().heartbeat({ leaseSeconds: LEASE_SECONDS, waitSeconds: 1, claims }, signal)
          if (answer!.lost) return
          if (answer!.assignment) ({ step, generation } = answer!.assignment)
        }
      } catch (error) {
        if (error instanceof ClaimLostError) return
        await pause(100)
      }
    }
    await plane()
      .release(claim)
      .catch(() => {})
  }

  const running = claimAll()
  return {
    async stop() {
      stopping.abort()
      await running
      for (const { plane } of planes) plane.close()
    },
  }
}

function outcome({ kind }: Step, random: Random) {
  if (kind === 'DEPLOY' && random.below(ONE_FAILURE_IN) === 0)
    return { outcome: 'failed' as const, reason: 'DEPLOY_FAILED' as const, message: 'It was to fail.' }
  return { outcome: 'succeeded' as const, ...(kind === 'DEPLOY' && { imageVersion: '1.0.0' }) }
}
