/**
 * The worker: claims deployments from the control plane, keeps the leases, and lets each be worked on
 * (holding.ts) with the runtime it was given. The control plane being away is no reason to stop.
 */
import { randomUUID } from 'node:crypto'
import os from 'node:os'
import type { Logger } from 'pino'
import type { ControlPlane } from '../domain/work/protocol.ts'
import { backoff, sleep, within } from './backoff.ts'
import { Holding } from './holding.ts'
import type { Runtime } from './runtime/runtime.ts'

export interface WorkerOptions {
  controlPlane: ControlPlane
  runtime: Runtime
  /** how long a lease lasts without a heartbeat */
  leaseSeconds: number
  log: Logger
  /** name of this process; the default names machine and process */
  holder?: string
}

export interface Worker {
  holder: string
  /** Ends every step and agent, gives every claim back. At most 8 s. */
  stop(): Promise<void>
}

/** deployments claimed in one call */
const CLAIM_BATCH = 20
/** requests in flight have this long when the worker stops */
const DRAIN_MS = 3000
const STOP_LIMIT_MS = 7500

/** Resolves when this worker is known to others on its machine; the loop runs on its own from then on. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { controlPlane, runtime, leaseSeconds, log } = options
  const holder = options.holder ?? `${os.hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`
  /** by deployment */
  const holdings = new Map<string, Holding>()
  const stopping = new AbortController()
  const leave = await runtime.enlist(holder)
  const loop = run()

  async function run(): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted; ) {
      let wait = (leaseSeconds * 1000) / 3
      try {
        await beat()
        await runtime.recoverHolders((dead) => controlPlane.releaseHolder(dead))
        await claimMore()
        failures = 0
      } catch (error) {
        if (stopping.signal.aborted) return
        wait = Math.min(wait, backoff(failures++, 250, 5000))
        log.warn({ err: error }, 'A round of the worker failed; trying again')
        await sleep(wait, stopping.signal)
        continue
      }
      await controlPlane.waitForNews(wait, stopping.signal).catch(() => sleep(wait, stopping.signal))
    }
  }

  /** A call that hangs must not keep the next heartbeat from being tried. */
  async function inTime<T>(call: Promise<T>): Promise<T> {
    const answer = await within((leaseSeconds * 1000) / 3, call)
    if (answer === undefined) throw new Error('The control plane did not answer in time')
    return answer
  }

  async function beat(): Promise<void> {
    const held = [...holdings.values()].filter((holding) => !holding.ended)
    if (held.length === 0) return
    const since = performance.now()
    const claims = held.map((holding) => holding.heartbeat())
    const answers = await inTime(controlPlane.heartbeat({ leaseSeconds, claims }))
    const byClaim = new Map(held.map((holding) => [holding.claim.claimId, holding]))
    for (const { claimId, lost, assignment } of answers) {
      const holding = byClaim.get(claimId)
      if (lost) {
        if (holding && !holding.ended) log.warn({ claimId }, 'A claim was lost')
        void holding?.lost()
        continue
      }
      holding?.renewed(since, leaseSeconds)
      if (assignment) holding?.update(assignment, since)
    }
  }

  async function claimMore(): Promise<void> {
    for (let full = true; full && !stopping.signal.aborted; ) {
      const leasedAt = performance.now()
      const claims = await inTime(controlPlane.claim({ holder, max: CLAIM_BATCH, leaseSeconds }))
      for (const claim of claims) {
        const { id } = claim.deployment
        const earlier = holdings.get(id)
        // it was claimed anew, so whatever we still have of it is not ours any more
        const after = earlier?.lost()
        const holding = new Holding({ controlPlane, runtime, log, claim, leasedAt, ...(after ? { after } : {}) })
        holdings.set(id, holding)
        void holding.over.then(() => {
          if (holdings.get(id) === holding) holdings.delete(id)
        })
      }
      full = claims.length === CLAIM_BATCH
    }
  }

  async function stop(): Promise<void> {
    stopping.abort()
    await within(1000, loop)
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
