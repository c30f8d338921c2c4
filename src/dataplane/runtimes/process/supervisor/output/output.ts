/**
 * Writes what agents print to the files of their deployment: masked, numbered, at a bounded rate. Lines of our own are
 * never left out.
 */
import type { Readable } from 'node:stream'
import type { LogLevel } from '../../../../../domain/protocol/protocol.ts'
import type { OnLine } from '../../../../output/lines.ts'
import { levelOf } from '../../../../output/log-level.ts'
import type { Mask } from '../../../../output/mask.ts'
import { storable } from '../../../../output/terminal-text.ts'
import type { OutputSettings } from '../protocol.ts'
import { readWithinBudget } from './bounded-reader.ts'
import { Budget } from './budget.ts'
import { gapMessage } from './line.ts'
import { type NewLine, OutputFiles } from './output-files.ts'

/** ms between two calls of `onWritten` */
const NOTIFY_INTERVAL_MS = 250
/** so many attempts can print at a time: what serves, a candidate, and what still drains */
const MAX_BUDGETS = 8

/** Whose output it is. */
interface Printer {
  revisionId: string
  attempt: number
  mask: Mask
}

export interface Output {
  /**
   * Reads a stream of a process to its end; what is printed at a higher rate than all may is left out, and it is said how
   * many lines. `onLine`: gets each line that is written. Never throws.
   */
  read(stream: Readable, of: Printer, onLine?: OnLine): Promise<void>
  /** A line of our own; it is never left out. */
  note(of: Omit<Printer, 'mask'>, message: string, level: LogLevel): void
  close(): void
}

/** `onWritten`: called after something was written, at most a few times a second. */
export function createOutput(folder: string, settings: OutputSettings, onWritten: () => void): Output {
  const files = new OutputFiles(folder, settings)
  /** one for each attempt of a revision, also of what starts again and again */
  const budgets = new Map<string, Budget>()
  const notify = atMostEvery(NOTIFY_INTERVAL_MS, onWritten)
  let lines: NewLine[] = []

  function flush(): void {
    const batch = lines
    lines = []
    if (batch.length > 0 && files.write(batch)) notify.soon()
  }

  function add(
    of: Omit<Printer, 'mask'>,
    level: LogLevel,
    message: string,
    time: number,
    styles?: string | null,
  ): void {
    const { revisionId, attempt } = of
    // all lines of one chunk are one write
    if (lines.length === 0) queueMicrotask(flush)
    lines.push({ time, revisionId, attempt, level, message: storable(message), ...(styles ? { styles } : {}) })
  }

  /** A candidate is not to be unheard because of what serves. */
  function budgetOf({ revisionId, attempt }: Printer): Budget {
    const key = `${revisionId}.${attempt}`
    const budget = budgets.get(key) ?? new Budget(settings.linesPerSecond)
    budgets.delete(key)
    budgets.set(key, budget)
    for (const [oldest] of [...budgets].slice(0, -MAX_BUDGETS)) budgets.delete(oldest)
    return budget
  }

  return {
    async read(stream, of, onLine) {
      await readWithinBudget(budgetOf(of), stream, of.mask, {
        line({ text, line, styles }, time) {
          add(of, levelOf(text), text, time, styles)
          onLine?.(text, line, styles)
        },
        gap: (left, why, time) => add(of, 'warning', gapMessage(left, why), time),
      })
    },
    note(of, message, level) {
      add(of, level, message, Date.now())
      flush()
    },
    close() {
      flush()
      notify.stop()
      files.close()
    },
  }
}

/** Calls `call` soon after `soon`, and not more often than every `ms`. */
function atMostEvery(ms: number, call: () => void): { soon(): void; stop(): void } {
  let timer: NodeJS.Timeout | null = null
  let last = Number.NEGATIVE_INFINITY
  return {
    soon() {
      timer ??= setTimeout(
        () => {
          timer = null
          last = performance.now()
          call()
        },
        Math.max(0, last + ms - performance.now()),
      )
    },
    stop() {
      if (timer) clearTimeout(timer)
      timer = null
    },
  }
}
