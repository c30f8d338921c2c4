/** Starts a listener or builder: a worker with the control plane over HTTP, a health server and metrics. */
import type { Logger } from 'pino'
import { startWorker, type Worker, type WorkerOptions } from '../dataplane/worker/worker.ts'
import type { ControlPlane } from '../domain/protocol/protocol.ts'
import { startHealthServer } from './health.ts'
import { type Instrumented, instrumented } from './instrumented.ts'
import { createMetrics } from './metrics.ts'

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
