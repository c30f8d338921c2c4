/**
 * The log of a build begins with its plan, which is known only when the source is here. What is said until then is shown at
 * once as what the step is doing, however long it takes, and stands behind the plan in the log; of a build that ends without a
 * plan it is all that there is.
 */
import type { LogLevel, LogType } from '../../domain/protocol/protocol.ts'
import type { OnPlan, OnProgress, RevisionLog } from './runtime.ts'

/** Does `work` with a log and an `onPlan` that see to it. `log`: nothing of this build is in it yet. */
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

/** Lines of ours have no full stop; what programs print may end with anything. */
const sentence = (line: string) => (/[.!?…:]$/.test(line) ? line : `${line}.`)
