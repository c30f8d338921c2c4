/**
 * The level of a line that a program has printed, where the line says it. On which stream it was printed says nothing: Python's
 * logging, npm and git print all of theirs to stderr. What is told without a level is `info`.
 */
import type { LogLevel } from '../../domain/protocol/protocol.ts'

const LEVELS = new Map<string, LogLevel>([
  ['trace', 'debug'],
  ['debug', 'debug'],
  ['info', 'info'],
  ['notice', 'info'],
  ['warn', 'warning'],
  ['warning', 'warning'],
  ['err', 'error'],
  ['error', 'error'],
  ['fatal', 'critical'],
  ['critical', 'critical'],
  ['panic', 'critical'],
  ['alert', 'critical'],
  ['emergency', 'critical'],
])
/** Members of JSON that programs log: pino and zap; Google's; Python's; Elastic's. */
const JSON_MEMBERS = ['level', 'severity', 'levelname', 'log.level']
/** pino's numbers: from so much on. Less is somebody else's scale, or no level at all. */
const PINO_LEVELS: [least: number, level: LogLevel][] = [
  [60, 'critical'],
  [50, 'error'],
  [40, 'warning'],
  [30, 'info'],
  [10, 'debug'],
]

const WORD = [...LEVELS.keys()].join('|')
/** A time, or a name in brackets, may stand before a level. */
const PREFIX = /^(?:\[[^\]]{1,100}\]|[\dTZ:.,+/-]{5,40}) +/
/** `ERROR: …`, `ERROR:app:…`, `[error    ] …` */
const LEADING_LEVEL = new RegExp(`^(?:(${WORD}):(?=\\s|[\\w.]+:)|\\[(${WORD}) *\\](?=\\s|$))`, 'i')
/** `time=… level=WARN msg=…` */
const LOGFMT_LEVEL = new RegExp(`^(?:[\\w.]+=(?:"[^"]*"|\\S*) +){0,5}(?:level|lvl|severity)="?(${WORD})\\b`, 'i')

export function levelOf(line: string): LogLevel {
  if (line.startsWith('{')) return levelOfJson(line) ?? 'info'
  let rest = line
  // a day, an hour, and a name
  for (let before = 0; before <= 3; before++) {
    const [, word, bracketed] = LEADING_LEVEL.exec(rest) ?? []
    const said = LEVELS.get((word ?? bracketed ?? '').toLowerCase())
    if (said) return said
    const [front] = PREFIX.exec(rest) ?? []
    if (!front) break
    rest = rest.slice(front.length)
  }
  if (rest.startsWith('{')) return levelOfJson(rest) ?? 'info'
  return LEVELS.get(LOGFMT_LEVEL.exec(line)?.[1]?.toLowerCase() ?? '') ?? 'info'
}

/** Null: it is none, or says none. */
function levelOfJson(text: string): LogLevel | null {
  let said: unknown
  try {
    const object = JSON.parse(text) as Record<string, unknown>
    said = JSON_MEMBERS.map((name) => object[name]).find((one) => one !== undefined)
  } catch {
    // a brace that something else begins with
    return null
  }
  if (typeof said === 'number') return PINO_LEVELS.find(([least]) => said >= least)?.[1] ?? null
  return typeof said === 'string' ? (LEVELS.get(said.toLowerCase()) ?? null) : null
}
