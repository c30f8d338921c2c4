/**
 * Writes what agents print, masked, to the files of their deployment.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Readable } from 'node:stream'
import type { LogLevel } from '../../../../../domain/protocol/protocol.ts'
import { type OnLine, readLines } from '../../../../output/lines.ts'
import type { Mask } from '../../../../output/mask.ts'
import type { OutputSettings } from '../protocol.ts'

/** Whose output it is. */
export interface Printer {
  revisionId: string
  attempt: number
  mask: Mask
}

export interface Output {
  /** Reads a stream of a process to its end. `onLine`: gets each line that is written. */
  read(stream: Readable, of: Printer, onLine?: OnLine): Promise<void>
  /** A line of our own; it is never left out. */
  note(of: Omit<Printer, 'mask'>, message: string, level: LogLevel): void
  close(): void
}

/** `onWritten`: called after something was written, at most a few times a second. */
export function createOutput(folder: string, _settings: OutputSettings, onWritten: () => void): Output {
  const file = path.join(folder, 'output.log')
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  const write = (revisionId: string, attempt: number, level: LogLevel, message: string, own: boolean) => {
    fs.appendFileSync(file, `${JSON.stringify({ time: Date.now(), revisionId, attempt, level, message, own })}\n`)
    onWritten()
  }
  return {
    read: (stream, { revisionId, attempt, mask }, onLine) =>
      readLines(stream, mask, (shown, line) => {
        write(revisionId, attempt, 'info', shown, false)
        onLine?.(shown, line)
      }),
    note: ({ revisionId, attempt }, message, level) => write(revisionId, attempt, level, message, true),
    close: () => undefined,
  }
}
