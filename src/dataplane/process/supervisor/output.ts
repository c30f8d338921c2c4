/** Writes the output of agents to the files of their deployment: masked, numbered, at a limited rate. */
import type { Readable } from 'node:stream'
import type { LogLevel } from '../../../domain/protocol/protocol.ts'
import type { OnLine } from '../../output/lines.ts'
import { levelOf } from '../../output/log-level.ts'
import type { Mask } from '../../output/mask.ts'
import { storable } from '../../output/terminal-text.ts'
import { Budget, readWithinBudget } from './bounded-reader.ts'
import { type NewLine, OutputFiles } from './output-files.ts'
import { gapMessage } from './output-line.ts'
import type { OutputSettings } from './protocol.ts'

/** minimum time between two calls of `onWritten` */
const NOTIFY_INTERVAL_MS = 250
/** attempts that print concurrently: the serving agent, a candidate, and draining agents */
const MAX_BUDGETS = 8

interface Printer {
  revisionId: string
  attempt: number
  mask: Mask
}

export interface Output {
  /**
   * Reads a stream of a process to its end. Never throws. Lines above the rate limit are replaced with their number.
   * `onLine` gets each line written.
   */
  read(stream: Readable, printer: Printer, onLine?: OnLine): Promise<void>
  /** Writes a line of the supervisor, without a rate limit. */
  note(printer: Omit<Printer, 'mask'>, message: string, level: LogLevel): void
  close(): void
}

/** `onWritten`: called after lines were written, at most a few times a second. */
export function createOutput(folder: string, settings: OutputSettings, onWritten: () => void): Output {
  const files = new OutputFiles(folder, settings)
  /** one for each attempt of a revision, kept across restarts of its agent */
  const budgets = new Map<string, Budget>()
  let lines: NewLine[] = []
  let notifying: NodeJS.Timeout | null = null
  let notified = Number.NEGATIVE_INFINITY

  function flush(): void {
    const batch = lines
    lines = []
    if (batch.length > 0 && files.write(batch))
      notifying ??= setTimeout(notify, Math.max(0, notified + NOTIFY_INTERVAL_MS - performance.now()))
  }

  function notify(): void {
    notifying = null
    notified = performance.now()
    onWritten()
  }

  function add(
    printer: Omit<Printer, 'mask'>,
    level: LogLevel,
    message: string,
    time: number,
    styles?: string | null,
  ): void {
    const { revisionId, attempt } = printer
    // all lines of one chunk make one write
    if (lines.length === 0) queueMicrotask(flush)
    lines.push({ time, revisionId, attempt, level, message: storable(message), ...(styles ? { styles } : {}) })
  }

  /** A separate budget lets a candidate print while the serving agent floods the log. */
  function budgetOf({ revisionId, attempt }: Printer): Budget {
    const key = `${revisionId}.${attempt}`
    const budget = budgets.get(key) ?? new Budget(settings.linesPerSecond)
    budgets.delete(key)
    budgets.set(key, budget)
    for (const [oldest] of [...budgets].slice(0, -MAX_BUDGETS)) budgets.delete(oldest)
    return budget
  }

  return {
    async read(stream, printer, onLine) {
      await readWithinBudget(budgetOf(printer), stream, printer.mask, {
        line({ text, line, styles }, time) {
          add(printer, levelOf(text), text, time, styles)
          onLine?.(text, line, styles)
        },
        gap: (left, why, time) => add(printer, 'warning', gapMessage(left, why), time),
      })
    },
    note(printer, message, level) {
      add(printer, level, message, Date.now())
      flush()
    },
    close() {
      flush()
      clearTimeout(notifying ?? undefined)
      files.close()
    },
  }
}
