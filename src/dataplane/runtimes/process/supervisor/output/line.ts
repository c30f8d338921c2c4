/**
 * How output is kept: files of JSON lines in one folder, each line with its number. Numbers have no gaps, also from file
 * to file, so that a position in the output stays one when files rotate.
 */
import { LINE_STYLES, MAX_STYLES_CHARS } from '../../../../../domain/protocol/line-styles.ts'
import type { LogLevel } from '../../../../../domain/protocol/protocol.ts'

export interface OutputLine {
  /** 1, 2, 3 … */
  n: number
  /** ms since 1970: when it was printed */
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

/** Null: it is none, as the last one is none after a crash in the middle of it. Where agents have our account, they can write any. */
export function parseLine(text: string): OutputLine | null {
  try {
    const line: Partial<OutputLine> = JSON.parse(text)
    const { n, time, revisionId, attempt, level, message, styles } = line
    const isLine =
      Number.isSafeInteger(n) &&
      // what a Date can be
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

/** One of the files. */
export interface OutputFile {
  name: string
  /** whose numbers these are: they begin again where the folder was lost, and after the machine was started anew */
  source: string
  /** number of its first line */
  first: number
}

const NAME = /^([0-9a-z]+-[0-9a-f]{8})\.(\d{12})\.log$/

export function outputFile(source: string, first: number): OutputFile {
  return { name: `${source}.${String(first).padStart(12, '0')}.log`, source, first }
}

/** Of the names in a folder those that are of output, the oldest first. */
export function outputFilesIn(names: readonly string[]): OutputFile[] {
  return names
    .flatMap((name) => {
      const [, source, first] = NAME.exec(name) ?? []
      return source ? [{ name, source, first: Number(first) }] : []
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** A new source's name sorts behind the older ones. */
export function newSource(random: string): string {
  return `${Date.now().toString(36)}-${random}`
}

/** `more than 200/s` and the like. */
export function gapMessage(lines: number, why: string): string {
  return `… ${lines === 1 ? '1 line was' : `${lines.toLocaleString('en-US')} lines were`} left out: ${why}`
}
