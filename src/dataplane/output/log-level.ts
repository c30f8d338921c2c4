/**
 * Reads the log level from a printed line. The stream does not matter: Python's logging, npm and git print everything to stderr.
 * The default is `info`.
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
/** JSON members with the level: pino and zap; Google; Python; Elastic. */
const JSON_MEMBERS = ['level', 'severity', 'levelname', 'log.level']
/** pino's levels by least number. A smaller number is another scale, or no level. */
const PINO_LEVELS: [least: number, level: LogLevel][] = [
  [60, 'critical'],
  [50, 'error'],
  [40, 'warning'],
  [30, 'info'],
  [10, 'debug'],
]

const WORD = [...LEVELS.keys()].join('|')
const PREFIX = /^(?:\[[^\]]{1,100}\]|[\dTZ:.,+/-]{5,40}) +/
/** `ERROR: …`, `ERROR:app:…`, `[error    ] …` */
const LEADING_LEVEL = new RegExp(`^(?:(${WORD}):(?=\\s|[\\w.]+:)|\\[(${WORD}) *\\](?=\\s|$))`, 'i')
/** `time=… level=WARN msg=…` */
const LOGFMT_LEVEL = new RegExp(`^(?:[\\w.]+=(?:"[^"]*"|\\S*) +){0,5}(?:level|lvl|severity)="?(${WORD})\\b`, 'i')

export function levelOf(line: string): LogLevel {
  if (line.startsWith('{')) return levelOfJson(line) ?? 'info'
  let rest = line
  // skip at most the name of a pod, a date, a time and a name
  for (let before = 0; before <= 4; before++) {
    const [, word, bracketed] = LEADING_LEVEL.exec(rest) ?? []
    const level = LEVELS.get((word ?? bracketed ?? '').toLowerCase())
    if (level) return level
    const [front] = PREFIX.exec(rest) ?? []
    if (!front) break
    rest = rest.slice(front.length)
  }
  if (rest.startsWith('{')) return levelOfJson(rest) ?? 'info'
  return LEVELS.get(LOGFMT_LEVEL.exec(rest)?.[1]?.toLowerCase() ?? '') ?? 'info'
}

function levelOfJson(text: string): LogLevel | null {
  let value: unknown
  try {
    const object = JSON.parse(text) as Record<string, unknown>
    value = JSON_MEMBERS.map((name) => object[name]).find((one) => one !== undefined)
  } catch {
    // text that only starts with a brace
    return null
  }
  if (typeof value === 'number') return PINO_LEVELS.find(([least]) => value >= least)?.[1] ?? null
  return typeof value === 'string' ? (LEVELS.get(value.toLowerCase()) ?? null) : null
}
