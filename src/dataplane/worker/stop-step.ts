/** Stops an aborted step: waits, then uses force. If force fails, the process must exit and be restarted. */
import type { Logger } from 'pino'
import type { Step } from '../../domain/protocol/protocol.ts'
import { resultWithin } from '../../platform/async/time-limit.ts'
import type { Runtime } from '../runtimes/runtime.ts'

/** ms between the abort signal and the forced end */
const STOP_MS = 30_000
/** ms between the forced end and StuckError */
const FORCE_MS = 15_000

/** A step can't be stopped, so the supervisor of this process must restart it. */
export class StuckError extends Error {}

export interface StopOptions {
  runtime: Runtime
  log: Logger
  stopMs?: number
}

/** `done` resolves when the step has ended. Returns whether force was needed. Throws StuckError when it fails. */
export async function ensureStopped(step: Step, done: Promise<void>, options: StopOptions): Promise<boolean> {
  const { runtime, log, stopMs = STOP_MS } = options
  const about = { stepId: step.id, kind: step.kind }
  if (await resultWithin(stopMs, ended(done))) return false
  log.error(about, 'A step ignored its stop, so its processes and connections are destroyed')
  const forced = runtime.destroy(step.id).then(() => ended(done))
  const over = await resultWithin(FORCE_MS, forced).catch((error) => {
    log.error({ ...about, err: error }, 'A step could not be stopped by force')
  })
  if (!over) throw new StuckError(`A ${step.kind} step can't be stopped, so this process exits and must be restarted.`)
  return true
}

const ended = (done: Promise<void>) => done.then(() => true)
