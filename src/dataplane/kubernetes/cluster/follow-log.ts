/** Follows the log of a container. */
import { ConnectionError } from '../../../platform/http/client.ts'
import { splitLines } from '../../../platform/http/lines.ts'
import { MAX_LINE_CHARACTERS } from '../../output/lines.ts'
import type { Api } from '../api-server/api.ts'
import { ClusterClosedError, Unreachable } from '../api-server/errors.ts'

/** characters of a raw line, with control codes and overwritten parts that are removed later */
const MAX_RAW_LINE_CHARACTERS = 4 * MAX_LINE_CHARACTERS

interface LogOptions {
  /** only lines printed at or after this time */
  since?: Date
  /** resumes after the line with this stamp */
  after?: string
  /** reads the container run before the last restart; its log does not grow */
  previous?: boolean
  /** only this many existing lines */
  tailLines?: number
}

export type LogArguments = [
  pod: { namespace: string; name: string },
  container: string,
  options: LogOptions,
  onLine: (line: string, at: Date, stamp: string) => void,
  signal: AbortSignal,
]

/**
 * Follows a container's log until the container ends or the signal aborts. Lines are raw; very long ones are cut.
 * Unreachable: resume with `after`, the last stamp. ApiRefused 400: not started; 404: the pod is gone.
 * It does not retry: the caller knows whether the container still matters.
 */
export async function followLog(api: Api, ...[pod, container, options, onLine, signal]: LogArguments): Promise<void> {
  const { since, after, previous, tailLines } = options
  const action = `read the log of container "${container}" of pod "${pod.name}" in namespace "${pod.namespace}"`
  const from = after === undefined ? since : readTime(after).time?.at
  const stamps = new Stamps()
  /** the previous line; lines of the kubelet have no timestamp and use its time */
  let last = { at: new Date(), stamp: after ?? '', isNew: after === undefined }
  try {
    const stream = await api.stream(
      {
        method: 'GET',
        path: `/api/v1/namespaces/${encodeURIComponent(pod.namespace)}/pods/${encodeURIComponent(pod.name)}/log`,
        query: {
          container,
          ...(previous ? { previous: 'true' } : { follow: 'true' }),
          timestamps: 'true',
          // the API has a resolution of seconds; earlier lines are skipped below
          sinceTime: from?.toISOString().replace(/\.\d+Z$/, 'Z'),
          tailLines: tailLines?.toString(),
        },
        action,
        fromNode: true,
      },
      signal,
    )
    await splitLines(stream, MAX_RAW_LINE_CHARACTERS, (raw) => {
      const { time, rest } = readTime(raw)
      if (time) {
        const stamp = stamps.next(time)
        const isNew = after === undefined ? !since || time.at >= since : isLater(stamp, after)
        last = { at: time.at, stamp, isNew }
      }
      if (last.isNew && !signal.aborted) onLine(rest, last.at, last.stamp)
    })
  } catch (error) {
    if (signal.aborted) return
    if (error instanceof ConnectionError || error instanceof ClusterClosedError)
      throw new Unreachable(`Cut off (to ${action})`, null, { cause: error })
    throw error
  }
}

interface LogTime {
  text: string
  at: Date
  nanoseconds: bigint
}

const TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)(?: |$)/

/** Splits a line into its timestamp and text. null: no timestamp, so the kubelet wrote the line. */
export function readTime(line: string): { time: LogTime | null; rest: string } {
  const [whole, seconds, fraction = '', zone] = TIME.exec(line) ?? []
  if (whole === undefined) return { time: null, rest: line }
  const nanoseconds = BigInt(Date.parse(`${seconds}${zone}`)) * 1_000_000n + BigInt(fraction.padEnd(9, '0'))
  const at = new Date(Number(nanoseconds / 1_000_000n))
  return { time: { text: whole.trimEnd(), at, nanoseconds }, rest: line.slice(whole.length) }
}

/** Gives each line of a log a unique position: its timestamp and its number within that timestamp. */
export class Stamps {
  #time: LogTime | null = null
  #nth = 0

  next(time: LogTime): string {
    this.#nth = time.nanoseconds === this.#time?.nanoseconds ? this.#nth + 1 : 1
    this.#time = time
    return `${time.text} ${this.#nth}`
  }
}

/** True: `stamp` is later than `than`. Both are stamps of one log. */
export function isLater(stamp: string, than: string): boolean {
  const [a, b] = [readTime(stamp), readTime(than)]
  const difference = (a.time?.nanoseconds ?? 0n) - (b.time?.nanoseconds ?? 0n)
  return difference > 0n || (difference === 0n && Number(a.rest) > Number(b.rest))
}
