/**
 * A step whose signal has aborted must stop: by itself, or by force. Otherwise its deployment would wait for it until a
 * restart, so a process in which even force does not help has to end.
 */
import type { Logger } from 'pino'
import type { Step } from '../../domain/protocol/protocol.ts'
import { resultWithin } from '../../platform/async/time-limit.ts'
import type { Runtime } from '../runtimes/runtime.ts'

/** ms that a step has to stop by itself once its signal has aborted */
const STOP_MS = 30_000
/** and ms to be over once it was ended by force */
const FORCE_MS = 15_000

/** Something in this process can't be ended: whoever supervises it has to start it again. */
export class StuckError extends Error {}

export interface StopOptions {
  runtime: Runtime
  log: Logger
  /** ms; default: STOP_MS */
  stopMs?: number
}

/**
 * To be called when the signal of `step` has aborted; `done` is its end. Resolves when that has come: whether it took
 * force. Throws StuckError when not even that helps.
 */
export async function ensureStopped(step: Step, done: Promise<void>, options: StopOptions): Promise<boolean> {
  const { runtime, log, stopMs = STOP_MS } = options
  const about = { stepId: step.id, kind: step.kind }
  if (await resultWithin(stopMs, ended(done))) return false
  log.error(about, 'A step did not stop when it was told to: its processes and connections are destroyed')
  const forced = runtime.destroy(step.id).then(() => ended(done))
  const over = await resultWithin(FORCE_MS, forced).catch((error) => {
    log.error({ ...about, err: error }, 'A step could not be ended by force')
  })
  if (!over) throw new StuckError(`A ${step.kind} step can't be ended: this process ends, to be started again.`)
  return true
}

const ended = (done: Promise<void>) => done.then(() => true)
