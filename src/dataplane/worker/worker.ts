/**
 * The worker: claims deployments and does what the control plane wants of them. Two loops: one claims what has no holder,
 * the other one renews the leases and gets the assignments. Both outlive a control plane that is away.
 */
import { randomUUID } from 'node:crypto'
import os from 'node:os'
import type { Logger } from 'pino'
import type { ControlPlane, HeartbeatItem, Step } from '../../domain/protocol/protocol.ts'
import { backoff, sleep } from '../../platform/async/retry.ts'
import { resultWithin, withHardTimeout } from '../../platform/async/time-limit.ts'
import type { Runtime } from '../runtimes/runtime.ts'
import { ClaimRunner } from './claim-runner.ts'

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
  /** classes that deployments may name; a listener shows them */
  podClasses?: string[]
  /** With so many claims it claims no more; they are for its replicas. Default: no limit */
  maxClaims?: number
  /** called when a step can't be ended here: then this process has to end, and be started again */
  onStuck?: (error: Error) => void
  /** ms that a step has to stop once its signal has aborted, before it is ended by force. Default: 30 s */
  stopMs?: number
}

export interface Worker {
  holder: string
  /** Kinds of the steps that are under way here. */
  underWay(): Step['kind'][]
  /** Ends every step, gives every claim back; what serves goes on. At most 8 s. */
  stop(): Promise<void>
}

/** deployments claimed in one call */
const CLAIM_BATCH = 20
/** claims in one heartbeat (protocol.ts) */
const HEARTBEAT_BATCH = 1000
/** ms from one call to the next of its kind, when the control plane answers at once */
const MIN_CALL_INTERVAL_MS = 200
const STOP_LIMIT_MS = 7500

/** Resolves when this worker is known to others on its machine; the loops run on their own from then on. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { controlPlane, runtime, leaseSeconds, log, version, podClasses, onStuck, stopMs } = options
  const { maxClaims = Number.POSITIVE_INFINITY } = options
  const holder = options.holder ?? `${os.hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`
  /** by deployment */
  const runners = new Map<string, ClaimRunner>()
  const stopping = new AbortController()
  // The control plane may answer only after that. A lease counts from when its call was sent, so a second call must fit in
  // before the lease ends, also after one that hung, or when this process stood still for a third of a lease.
  const waitSeconds = Math.min(60, leaseSeconds < 6 ? leaseSeconds / 6 : Math.floor(leaseSeconds / 6))
  const answerMs = (leaseSeconds * 1000) / 6
  /** cuts the wait of the heartbeat loop short, so that a new claim is in the next heartbeat */
  let idle = new AbortController()
  /** cuts the wait of the claim loop short when it holds as much as it may, and some of that has ended */
  let full = new AbortController()
  /** the next heartbeat is to be answered at once, and nothing cuts it short: whatever became of the last one, the leases are renewed */
  let urgent = false
  const deregister = await runtime.registerHolder(holder)
  const loops = Promise.all([claiming(), beating()])

  async function claiming(): Promise<void> {
    await again('Claiming', async () => {
      await runtime.releaseDeadHolders((dead) => controlPlane.releaseHolder(dead))
      await claimMore()
    })
  }

  async function beating(): Promise<void> {
    await again('A heartbeat', async () => {
      idle = new AbortController()
      if (stopping.signal.aborted) return
      const active = [...runners.values()].filter((runner) => !runner.ended)
      if (active.length > 0) await beat(active)
      else await sleep(60_000, idle.signal)
    })
  }

  /** Does `round` again and again; after one that failed with a pause that grows. */
  async function again(what: string, round: () => Promise<void>): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const begun = performance.now()
      try {
        await round()
        failures = 0
        await sleep(begun + MIN_CALL_INTERVAL_MS - performance.now(), stopping.signal)
      } catch (error) {
        if (stopping.signal.aborted) return
        log.warn({ err: error }, `${what} failed; trying again`)
        await sleep(Math.min(waitSeconds * 1000, backoff(failures++, 250, 5000)), stopping.signal)
      }
    }
  }

  async function beat(active: ClaimRunner[]): Promise<void> {
    const signal = urgent ? stopping.signal : idle.signal
    // when this process was busy for long, the leases may not last for an answer that waits, and one more try
    const left = Math.min(...active.map((runner) => runner.leaseLeft))
    const wait = urgent || left < waitSeconds * 1000 + 1.5 * answerMs ? 0 : waitSeconds
    urgent = false
    const parts: ClaimRunner[][] = []
    for (let i = 0; i < active.length; i += HEARTBEAT_BATCH) parts.push(active.slice(i, i + HEARTBEAT_BATCH))
    const results = await Promise.allSettled(
      parts.map(async (part) => {
        const changed = await beatPart(part, wait, signal)
        // this part is not to wait for the others before it is asked for again
        if (changed && parts.length > 1) beatNow()
      }),
    )
    const failed = results.find((result) => result.status === 'rejected')
    if (!failed || (signal.aborted && !stopping.signal.aborted)) return
    urgent = true
    throw failed.reason
  }

  /** Returns whether anything has changed for any of them. */
  async function beatPart(part: ClaimRunner[], wait: number, signal: AbortSignal): Promise<boolean> {
    const since = performance.now()
    const claims: HeartbeatItem[] = part.map((runner) => runner.heartbeat())
    const answers = await withHardTimeout(wait * 1000 + answerMs, signal, silent, (cut) =>
      controlPlane.heartbeat({ leaseSeconds, waitSeconds: wait, claims }, cut),
    )
    const byClaim = new Map(part.map((runner) => [runner.claim.claimId, runner]))
    const tokens = new Map(claims.map(({ claimId, token }) => [claimId, token]))
    for (const { claimId, lost, assignment } of answers) {
      const runner = byClaim.get(claimId)
      if (lost) {
        void runner?.refused(tokens.get(claimId)!)
        continue
      }
      runner?.renewed(since, leaseSeconds)
      if (assignment) runner?.update(assignment)
    }
    return answers.some(({ lost, assignment }) => lost || assignment)
  }

  function beatNow(): void {
    urgent = true
    idle.abort()
  }

  /** Until there is nothing more to claim: the control plane holds the last call for `waitSeconds`, in case something comes. */
  async function claimMore(): Promise<void> {
    for (let more = true; more && !stopping.signal.aborted; ) {
      const max = Math.min(CLAIM_BATCH, maxClaims - runners.size)
      if (max <= 0) {
        full = new AbortController()
        return stopping.signal.aborted ? undefined : sleep(waitSeconds * 1000, full.signal)
      }
      const leasedAt = performance.now()
      const program = { ...(version ? { version } : {}), ...(podClasses ? { podClasses } : {}) }
      const request = { holder, max, leaseSeconds, waitSeconds, ...program }
      const claims = await withHardTimeout((waitSeconds + leaseSeconds / 3) * 1000, stopping.signal, silent, (cut) =>
        controlPlane.claim(request, cut),
      )
      for (const claim of claims) {
        const { id } = claim.deployment
        const earlier = runners.get(id)
        // it was claimed anew, so whatever we still have of it is not ours any more
        const after = earlier?.lost()
        const runner = new ClaimRunner({ controlPlane, runtime, log, claim, leasedAt, after, onStuck, stopMs })
        runners.set(id, runner)
        void runner.over.then(() => {
          if (runners.get(id) === runner) runners.delete(id)
          full.abort()
        })
      }
      if (claims.length > 0) beatNow()
      more = claims.length === max
    }
  }

  async function stop(): Promise<void> {
    stopping.abort()
    idle.abort()
    full.abort()
    await resultWithin(1000, loops)
    const releases = [...runners.values()].map((runner) => runner.release())
    const released = await resultWithin(STOP_LIMIT_MS - 1000, Promise.all(releases))
    // what could not be given back is released by the next worker on this machine, as after a kill
    if (released?.every(Boolean)) await deregister()
  }

  let stopped: Promise<void> | null = null
  return {
    holder,
    underWay: () => [...runners.values()].flatMap((runner) => runner.underWay ?? []),
    stop() {
      stopped ??= stop()
      return stopped
    },
  }
}

/** The control plane, with `ms` for the answers to calls that nothing else ends; claims and heartbeats have limits of their own. */
export function withTimeLimits(plane: ControlPlane, ms: number): ControlPlane {
  const inTime = <R, A>(call: (request: R) => Promise<A>) => {
    return (request: R) => withHardTimeout(ms, undefined, silent, () => call(request))
  }
  return {
    ...plane,
    logs: inTime(plane.logs),
    ...(plane.output && { output: inTime(plane.output) }),
    complete: inTime(plane.complete),
    release: inTime(plane.release),
    releaseHolder: inTime(plane.releaseHolder),
  }
}

const silent = () => new Error('The control plane did not answer in time')
