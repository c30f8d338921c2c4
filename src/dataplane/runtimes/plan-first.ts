/** Makes the build plan the first log line, although it is known late: earlier lines are progress, logged after it. */
import type { LogLevel, LogType } from '../../domain/protocol/protocol.ts'
import type { OnPlan, OnProgress, RevisionLog } from './runtime.ts'

/** Runs `work` with a log that holds lines until `onPlan`. `log` must be empty for this build. */
export async function planFirst<T>(
  log: RevisionLog,
  onProgress: OnProgress,
  onPlan: OnPlan,
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
