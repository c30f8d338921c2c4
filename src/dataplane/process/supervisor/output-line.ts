/**
 * Format of stored output: files of numbered JSON lines. Numbers continue without gaps across files, so a position
 * stays valid when files rotate.
 */
import { LINE_STYLES, MAX_STYLES_CHARS } from '../../../domain/protocol/line-styles.ts'
import type { LogLevel } from '../../../domain/protocol/protocol.ts'

export interface OutputLine {
  n: number
  /** when it was printed, ms since 1970 */
  time: number
  revisionId: string
  attempt: number
  level: LogLevel
  message: string
  /** its colours (domain/protocol/line-styles.ts) */
  styles?: string
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warning', 'error', 'critical']
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Null: not a valid line. A crash can cut the last one, and agents under the server's account can write anything. */
export function parseLine(text: string): OutputLine | null {
  try {
    const line: Partial<OutputLine> = JSON.parse(text)
    const { n, time, revisionId, attempt, level, message, styles } = line
    const isLine =
      Number.isSafeInteger(n) &&
      // range of Date
      Math.abs(time!) <= 8.64e15 &&
      UUID.test(revisionId!) &&
      attempt === (attempt! | 0) &&
      LEVELS.includes(level!) &&
      typeof message === 'string' &&
      (styles === undefined || (LINE_STYLES.test(styles) && styles.length <= MAX_STYLES_CHARS))
    return isLine ? (line as OutputLine) : null
  } catch {
    return null
  }
}

export interface OutputFile {
  name: string
  /** series of numbers; a new one starts when the folder was lost and after a reboot */
  source: string
  first: number
}

const NAME = /^([0-9a-z]+-[0-9a-f]{8})\.(\d{12})\.log$/

export function outputFile(source: string, first: number): OutputFile {
  return { name: `${source}.${String(first).padStart(12, '0')}.log`, source, first }
}

/** Selects the output files from the names in a folder, oldest first. */
export function outputFilesIn(names: readonly string[]): OutputFile[] {
  return names
    .flatMap((name) => {
      const [, source, first] = NAME.exec(name) ?? []
      return source ? [{ name, source, first: Number(first) }] : []
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Later sources sort behind earlier ones. */
export function newSource(random: string): string {
  return `${Date.now().toString(36)}-${random}`
}

/** `why`: like `more than 200/s`. */
export function gapMessage(lines: number, why: string): string {
  return `… ${lines === 1 ? '1 line was' : `${lines.toLocaleString('en-US')} lines were`} left out: ${why}`
}
