/** Limits concurrent builds on a machine. Waiting builds start in order and report that they wait. */
import type { LogLevel, LogType } from '../../domain/protocol/protocol.ts'
import { Semaphore } from '../../platform/async/semaphore.ts'
import type { OnPlan, OnProgress, RevisionLog } from './runtime.ts'

interface QueuedBuild {
  /** empty for this build */
  log: RevisionLog
  signal: AbortSignal
  onProgress?: OnProgress | undefined
  onPlan?: OnPlan | undefined
}

const ignore = () => undefined

export class BuildQueue {
  readonly #atATime: number
  readonly #limit: Semaphore

  constructor(atATime: number) {
    this.#atATime = atATime
    this.#limit = new Semaphore(atATime)
  }

  /** Runs `work` when a slot is free. Throws the signal's reason if it aborts first. */
  run<T>(build: QueuedBuild, work: (log: RevisionLog, onPlan: OnPlan) => Promise<T>): Promise<T> {
    const { log, signal, onProgress = ignore } = build
    return this.#limit.run(
      signal,
      () => {
        onProgress(null)
        return planFirst(build, work)
      },
      () => {
        const message = `Waiting for its turn: this machine builds ${this.#atATime} at a time`
        log.write('build', message)
        onProgress({ reason: 'WAITING_FOR_TURN', message: `${message}.` })
      },
    )
  }
}

/**
 * Makes the build plan the first log line, although it is known late: `work` gets a log that holds lines until `onPlan`.
 * Earlier lines are progress, and are logged after it.
 */
async function planFirst<T>(
  { log, onProgress = ignore, onPlan = ignore }: QueuedBuild,
  work: (log: RevisionLog, onPlan: OnPlan) => Promise<T>,
): Promise<T> {
  let held: (() => void)[] | null = []
  const release = () => {
    const lines = held ?? []
    held = null
    for (const line of lines) line()
  }
  const later = (line: () => void) => {
    if (held) held.push(line)
    else line()
  }
  const head: RevisionLog = {
    write(type: LogType, message: string, level: LogLevel = 'info') {
      if (held && level === 'info') onProgress({ reason: 'IN_PROGRESS', message: sentence(message) })
      later(() => log.write(type, message, level))
    },
    print: (type, message, styles) => later(() => log.print(type, message, styles)),
  }
  try {
    return await work(head, (plan) => {
      log.write('build', `Build plan: ${plan.sentence}`)
      release()
      onProgress(null)
      onPlan(plan)
    })
  } finally {
    release()
  }
}

/** Pilothouse's lines have no full stop; program output may end with any character. */
const sentence = (line: string) => (/[.!?…:]$/.test(line) ? line : `${line}.`)
