/** The worker: claims deployments and runs one ClaimRunner per claim. One loop claims, another sends heartbeats. */
import { randomUUID } from 'node:crypto'
import os from 'node:os'
import type { Logger } from 'pino'
import type { ControlPlane, HeartbeatItem, Step } from '../../domain/protocol/protocol.ts'
import { backoff, sleep } from '../../platform/async/retry.ts'
import { resultWithin, withHardTimeout } from '../../platform/async/time-limit.ts'
import type { Runtime } from '../runtimes/runtime.ts'
import { ClaimRunner, type ClaimRunnerOptions } from './claim-runner.ts'
import { measureRegularly } from './metrics-loop.ts'

export interface WorkerOptions {
  controlPlane: ControlPlane
  runtime: Runtime
  /** duration of a lease without a heartbeat */
  leaseSeconds: number
  log: Logger
  /** name of this process; default: machine and process */
  holder?: string
  /** program version; the control plane shows it for a listener */
  version?: string
  /** pod classes that deployments may name; the control plane shows them for a listener */
  podClasses?: string[]
  /** the control plane's, for times of metrics; default: this machine's */
  clock?: () => Date
  /** Maximum number of claims; replicas take the rest. Default: unlimited */
  maxClaims?: number
  /** called when a step can't be stopped; the process must then exit and be restarted */
  onStuck?: (error: Error) => void
  onStepEnd?: ClaimRunnerOptions['onStepEnd']
  stopMs?: number
  tracing?: ClaimRunnerOptions['tracing']
}

export interface Worker {
  holder: string
  underWay(): Step['kind'][]
  /** Number of held claims. */
  claims(): number
  /** Stops all steps and releases all claims within 8 s. Running agents keep serving. */
  stop(): Promise<void>
}

const CLAIM_BATCH = 20
/** claims per heartbeat request (protocol.ts) */
const HEARTBEAT_BATCH = 1000
/** minimum ms between two calls of one loop */
const MIN_CALL_INTERVAL_MS = 200
const STOP_LIMIT_MS = 7500

/** Resolves when the worker is registered on its machine. The loops then run in the background. */
export async function startWorker(options: WorkerOptions): Promise<Worker> {
  const { controlPlane, runtime, leaseSeconds, log, version, podClasses, onStuck, onStepEnd, stopMs, tracing } = options
  const { maxClaims = Number.POSITIVE_INFINITY } = options
  const holder = options.holder ?? `${os.hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`
  /** by deployment */
  const runners = new Map<string, ClaimRunner>()
  const stopping = new AbortController()
  // The control plane may hold a call for this long. A lease counts from the start of its call. So a second call must
  // fit before the lease ends, even if the first hangs or this process stalls for a third of a lease.
  const waitSeconds = Math.min(60, leaseSeconds < 6 ? leaseSeconds / 6 : Math.floor(leaseSeconds / 6))
  const answerMs = (leaseSeconds * 1000) / 6
  /** ends the heartbeat loop's wait, so the next heartbeat includes a new claim */
  let idle = new AbortController()
  /** ends the claim loop's wait at `maxClaims` when a claim has ended */
  let full = new AbortController()
  /** the next heartbeat must not wait and can't be cut short, so that it renews the leases */
  let urgent = false
  const deregister = await runtime.registerHolder(holder)
  const loops = Promise.all([claiming(), beating(), measureRegularly(options, stopping.signal)])

  async function claiming(): Promise<void> {
    await repeat('Claiming', async () => {
      await runtime.releaseDeadHolders((dead) => controlPlane.releaseHolder(dead))
      await claimMore()
    })
  }

  async function beating(): Promise<void> {
    await repeat('A heartbeat', async () => {
      idle = new AbortController()
      if (stopping.signal.aborted) return
      const active = [...runners.values()].filter((runner) => !runner.ended)
      if (active.length > 0) await beat(active)
      else await sleep(60_000, idle.signal)
    })
  }

  /** Repeats `round`; after a failure it pauses with growing delays. */
  async function repeat(task: string, round: () => Promise<void>): Promise<void> {
    for (let failures = 0; !stopping.signal.aborted; ) {
      const startedAt = performance.now()
      try {
        await round()
        failures = 0
        await sleep(startedAt + MIN_CALL_INTERVAL_MS - performance.now(), stopping.signal)
      } catch (error) {
        if (stopping.signal.aborted) return
        log.warn({ err: error }, `${task} failed; trying again`)
        await sleep(Math.min(waitSeconds * 1000, backoff(failures++, 250, 5000)), stopping.signal)
      }
    }
  }

  async function beat(active: ClaimRunner[]): Promise<void> {
    const signal = urgent ? stopping.signal : idle.signal
    // after this process stalled, the leases may be too short for a long poll plus one retry
    const left = Math.min(...active.map((runner) => runner.leaseLeft))
    const wait = urgent || left < waitSeconds * 1000 + 1.5 * answerMs ? 0 : waitSeconds
    urgent = false
    const parts: ClaimRunner[][] = []
    for (let i = 0; i < active.length; i += HEARTBEAT_BATCH) parts.push(active.slice(i, i + HEARTBEAT_BATCH))
    const results = await Promise.allSettled(
      parts.map(async (part) => {
        const changed = await beatPart(part, wait, signal)
        // this batch does not wait for the other batches
        if (changed && parts.length > 1) beatNow()
      }),
    )
    const failed = results.find((result) => result.status === 'rejected')
    if (!failed || (signal.aborted && !stopping.signal.aborted)) return
    urgent = true
    throw failed.reason
  }

  /** True: at least one claim of the batch has changed. */
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

  /** Claims until a batch is not full. The control plane may hold the last call for `waitSeconds`. */
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
        // a new claim of the same deployment means that the old claim is lost
        const after = earlier?.lost()
        const about = { claim, leasedAt, after, onStuck, onStepEnd, stopMs, tracing }
        const runner = new ClaimRunner({ controlPlane, runtime, log, ...about })
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
    // as after a kill, the next worker on this machine releases the remaining claims
    if (released?.every(Boolean)) await deregister()
  }

  let stopped: Promise<void> | null = null
  return {
    holder,
    claims: () => [...runners.values()].filter(({ ended }) => !ended).length,
    underWay: () => [...runners.values()].flatMap((runner) => runner.underWay ?? []),
    stop() {
      stopped ??= stop()
      return stopped
    },
  }
}

/** Adds a timeout of `ms` to all calls except claims and heartbeats, which have their own. */
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
