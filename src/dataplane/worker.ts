/**
 * The worker: holds deployments and does what the control plane wants of them. Two loops: one claims what has no
 * holder, the other one keeps the leases and hears what is new. Both outlive a control plane that is away.
 */
import { randomUUID } from 'node:crypto'
import os from 'node:os'
import type { Logger } from 'pino'
import type { ControlPlane, HeartbeatItem } from '../domain/work/protocol.ts'
import { backoff, sleep, within } from './backoff.ts'
import { Holding } from './holding.ts'
import type { Runtime } from './runtime/runtime.ts'
import { timely } from './timely.ts'

export interface WorkerOptions {
  controlPlane: ControlPlane
  runtime: Runtime
  /** how long a lease lasts without a heartbeat */
  leaseSeconds: number
  log: Logger
  /** name of this process; the default names machine and process */
  holder?: string
  /** of this program; a listener shows it */
  version?: string
  /** When it holds so many deployments it claims no more; they are for its replicas. Default: no limit */
  maxClaims?: number
  /** told when something can't be ended here: then this process has to end, and be started again */
  onStuck?: (error: Error) => void
  /** ms that a step has to stop when it is told to, before it is ended by force. Default: 30 s */
  stopMs?: number
}

export interface Worker {
  holder: string
  /** Ends every step and agent, gives every claim back. At most 8 s. */
  stop(): Promise<void>
}

/** deployments claimed in one call */
const CLAIM_BATCH = 20
/** claims in one heartbeat (protocol.ts) */
const HEARTBEAT_BATCH = 1000
/** ms from one call to the next of its kind, when the control plane answers at once */
const APART = 200
/** requests in flight have this long when the worker stops */
const DRAIN_MS = 3000
const STOP_LIMIT_MS = 7500

/** Resolves when this worker is known to others on its machine; the loops run on their own from then on. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { controlPlane, runtime, leaseSeconds, log, version, onStuck, stopMs } = options
  const { maxClaims = Number.POSITIVE_INFINITY } = options
  const holder = options.holder ?? `${os.hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`
  /** by deployment */
  const holdings = new Map<string, Holding>()
  const stopping = new AbortController()
  // a lease counts from when a call was sent: a second call must fit in before its end, also after one that hung, or when
  // this process did nothing for a third of a lease
  const waitSeconds = Math.min(60, leaseSeconds < 6 ? leaseSeconds / 6 : Math.floor(leaseSeconds / 6))
  const patience = (leaseSeconds * 1000) / 6
  /** ends what the heartbeat loop waits for: a new claim wants its place in it */
  let resting = new AbortController()
  /** the next heartbeat is not to wait, and nothing ends it: whatever cut the last one short, the leases are extended */
  let hurry = false
  const leave = await runtime.enlist(holder)
  const loops = Promise.all([claiming(), beating()])

  async function claiming(): Promise<void> {
    await again('Claiming', async () => {
      await runtime.recoverHolders((dead) => controlPlane.releaseHolder(dead))
      await claimMore()
    })
  }

  async function beating(): Promise<void> {
    await again('A heartbeat', async () => {
      resting = new AbortController()
      if (stopping.signal.aborted) return
      const held = [...holdings.values()].filter((holding) => !holding.ended)
      if (held.length > 0) await beat(held)
      else await sleep(60_000, resting.signal)
    })
  }

  /** Does `round` again and again; after one that failed with a pause that grows. */
  async function again(what: string, round: () => Promise<void>): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const begun = performance.now()
      try {
        await round()
        failures = 0
        await sleep(begun + APART - performance.now(), stopping.signal)
      } catch (error) {
        if (stopping.signal.aborted) return
        log.warn({ err: error }, `${what} failed; trying again`)
        await sleep(Math.min(waitSeconds * 1000, backoff(failures++, 250, 5000)), stopping.signal)
      }
    }
  }

  async function beat(held: Holding[]): Promise<void> {
    const signal = hurry ? stopping.signal : resting.signal
    // when this process was busy for long, the leases may not last until an answer that takes its time, and one more try
    const left = Math.min(...held.map((holding) => holding.leaseLeft))
    const wait = hurry || left < waitSeconds * 1000 + 1.5 * patience ? 0 : waitSeconds
    hurry = false
    const parts: Holding[][] = []
    for (let i = 0; i < held.length; i += HEARTBEAT_BATCH) parts.push(held.slice(i, i + HEARTBEAT_BATCH))
    const results = await Promise.allSettled(
      parts.map(async (part) => {
        const news = await beatPart(part, wait, signal)
        // this part is not to wait for the others before it is asked for again
        if (news && parts.length > 1) hasten()
      }),
    )
    const failed = results.find((result) => result.status === 'rejected')
    if (!failed || (signal.aborted && !stopping.signal.aborted)) return
    hurry = true
    throw failed.reason
  }

  /** Returns whether there was news of any. */
  async function beatPart(part: Holding[], wait: number, signal: AbortSignal): Promise<boolean> {
    const since = performance.now()
    const claims: HeartbeatItem[] = part.map((holding) => holding.heartbeat())
    const answers = await timely(wait * 1000 + patience, signal, (cut) =>
      controlPlane.heartbeat({ leaseSeconds, waitSeconds: wait, claims }, cut),
    )
    const byClaim = new Map(part.map((holding) => [holding.claim.claimId, holding]))
    for (const { claimId, lost, assignment } of answers) {
      const holding = byClaim.get(claimId)
      if (lost) {
        if (holding && !holding.ended) log.warn({ claimId }, 'A claim was lost')
        void holding?.lost()
        continue
      }
      holding?.renewed(since, leaseSeconds)
      if (assignment) holding?.update(assignment)
    }
    return answers.some(({ lost, assignment }) => lost || assignment)
  }

  function hasten(): void {
    hurry = true
    resting.abort()
  }

  /** Until there is nothing more to have, which takes as long as the control plane waits for something. */
  async function claimMore(): Promise<void> {
    for (let full = true; full && !stopping.signal.aborted; ) {
      const max = Math.min(CLAIM_BATCH, maxClaims - holdings.size)
      if (max <= 0) return sleep(waitSeconds * 1000, stopping.signal)
      const leasedAt = performance.now()
      const request = { holder, max, leaseSeconds, waitSeconds, ...(version ? { version } : {}) }
      const claims = await timely((waitSeconds + leaseSeconds / 3) * 1000, stopping.signal, (cut) =>
        controlPlane.claim(request, cut),
      )
      for (const claim of claims) {
        const { id } = claim.deployment
        const earlier = holdings.get(id)
        // it was claimed anew, so whatever we still have of it is not ours any more
        const after = earlier?.lost()
        const holding = new Holding({ controlPlane, runtime, log, claim, leasedAt, after, onStuck, stopMs })
        holdings.set(id, holding)
        void holding.over.then(() => {
          if (holdings.get(id) === holding) holdings.delete(id)
        })
      }
      if (claims.length > 0) hasten()
      full = claims.length === max
    }
  }

  async function stop(): Promise<void> {
    stopping.abort()
    resting.abort()
    await within(1000, loops)
    const releases = [...holdings.values()].map((holding) => holding.release(DRAIN_MS))
    const released = await within(STOP_LIMIT_MS - 1000, Promise.all(releases))
    // what could not be given back is released by the next worker on this machine, as after a kill
    if (released?.every(Boolean)) await leave()
  }

  let stopped: Promise<void> | null = null
  return {
    holder,
    stop() {
      stopped ??= stop()
      return stopped
    },
  }
}
