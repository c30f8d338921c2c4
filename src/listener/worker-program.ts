/**
 * Starts a listener or builder: a worker with the control plane over HTTP, a health server and metrics. Before the first response
 * no call waits for news, to detect a return early.
 */
import type { Logger } from 'pino'
import { startWorker, type Worker, type WorkerOptions } from '../dataplane/worker/worker.ts'
import { ClaimLostError } from '../domain/errors/errors.ts'
import type { ControlPlane } from '../domain/protocol/protocol.ts'
import { ControlPlaneRefused } from './call.ts'
import { createMetrics, type ProgramMetrics, startHealthServer } from './health.ts'

/** The log, and OpenTelemetry if a collector is set. */
export type Telemetry = Pick<WorkerOptions, 'log' | 'tracing'>

export interface WorkerProgram {
  /** name of this worker at the control plane */
  holder: string
  /** port of the health server */
  port: number
  /** Resolves with the cause when the process must exit and be restarted. */
  lost: Promise<Error>
  /** Releases all claims and ends within about 8 s. */
  close(): Promise<void>
}

export interface ProgramOptions extends Omit<WorkerOptions, 'controlPlane' | 'onStuck' | 'onStepEnd'> {
  name: 'listener' | 'builder'
  plane: ControlPlane & { close(): void }
  health: { host: string; port: number }
  /** Why it can't work; null: it can. `plane`: problem of the control plane. */
  problem: (plane: string | null, ending: boolean) => string | null
  /** problem of the cluster, for the metrics */
  clusterProblem?: () => string | null
  /** Changes the calls that the worker makes. */
  wrap?: (plane: Instrumented) => ControlPlane
  /** Ends the runtime, when the worker has ended or could not start. */
  closeRuntime: () => Promise<void>
  log: Logger
}

/** Throws when the health port can't be opened. */
export async function startWorkerProgram(options: ProgramOptions): Promise<WorkerProgram> {
  const { name, plane, health, problem, clusterProblem, wrap, closeRuntime, log, ...workerOptions } = options
  let ending = false
  let worker: Worker | null = null
  const metrics = createMetrics(name, () => worker?.claims() ?? 0, clusterProblem)
  const watched = instrumented(plane, metrics.calls, log, name)
  const server = await startHealthServer({
    ...health,
    problem: () => problem(watched.problem(), ending),
    registry: metrics.registry,
  }).catch(async (error) => {
    await closeRuntime()
    throw error
  })
  let onStuck: (error: Error) => void = () => undefined
  const lost = new Promise<Error>((resolve) => {
    onStuck = resolve
  })
  const started = await startWorker({
    ...workerOptions,
    controlPlane: wrap?.(watched) ?? watched,
    log,
    onStuck,
    onStepEnd: (kind, outcome) => metrics.steps.inc({ kind, outcome }),
  })
  worker = started
  return {
    holder: started.holder,
    port: server.port,
    lost,
    async close() {
      ending = true
      await started.stop()
      await closeRuntime()
      plane.close()
      await server.close()
      await workerOptions.tracing?.stop()
    },
  }
}

interface Instrumented extends ControlPlane {
  /** Problem of the control plane, for users; null: the last call succeeded. */
  problem(): string | null
}

/** `name`: program name for users. The log gets one line per change of the availability. */
function instrumented(plane: ControlPlane, calls: ProgramMetrics['calls'], log: Logger, name: string): Instrumented {
  let problem: string | null = 'The control plane has not answered yet'

  function answered(): void {
    if (problem !== null) log.info('The control plane answers')
    problem = null
  }

  function failed(reason: string): void {
    if (reason !== problem) log.error({ reason }, `The ${name} can’t work without the control plane`)
    problem = reason
  }

  async function watch<T>(call: string, work: Promise<T>, signal?: AbortSignal): Promise<T> {
    const end = calls.startTimer({ call })
    try {
      const answer = await work
      end({ outcome: 'ok' })
      answered()
      return answer
    } catch (error) {
      if (error instanceof ClaimLostError) {
        end({ outcome: 'claim_lost' })
        answered()
      } else if (signal?.aborted && (error as Error).name === 'AbortError') end({ outcome: 'given_up' })
      else {
        end({ outcome: error instanceof ControlPlaneRefused ? 'refused' : 'unreachable' })
        failed((error as Error).message)
      }
      throw error
    }
  }

  const patient = <R extends { waitSeconds?: number }>(request: R): R =>
    problem === null ? request : { ...request, waitSeconds: 0 }

  return {
    problem: () => problem,
    claim: (request, signal) => watch('claim', plane.claim(patient(request), signal), signal),
    heartbeat: (request, signal) => watch('heartbeat', plane.heartbeat(patient(request), signal), signal),
    logs: (request) => watch('logs', plane.logs(request)),
    complete: (request) => watch('complete', plane.complete(request)),
    release: (claim) => watch('release', plane.release(claim)),
    releaseHolder: (holder) => plane.releaseHolder(holder),
  }
}
