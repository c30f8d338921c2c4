/** Parses timestamps of log lines: RFC 3339 with up to nine digits of a second, in any time zone. */

export interface LogTime {
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
