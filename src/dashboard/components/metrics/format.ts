/** Values of metrics in words, the same in charts, tables and the list. */
const NUMBER = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })
const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/** `0.25`, `14.2`, `1,420`: three digits, or all before the point. */
export const number = (value: number): string => (value >= 100 ? WHOLE.format(value) : NUMBER.format(value))

/** `85 ms`, `1.25 s`, `2.5 min` */
export function latency(seconds: number): string {
  if (seconds < 1) return `${number(Math.round(seconds * 1e4) / 10)} ms`
  return seconds < 120 ? `${number(seconds)} s` : `${number(seconds / 60)} min`
}

/** `512 MB`, `1.5 GB`: by 1,000, as a deployment's resource spec counts. Samples have seven digits. */
export const bytes = (value: number): string =>
  value < 999.9e6 ? `${number(value / 1e6)} MB` : `${number(value / 1e9)} GB`

/** `0.03 %`, `4.2 %`, `98 %` */
export function percent(share: number): string {
  const value = share * 100
  const digits = value >= 10 ? 0 : value >= 1 ? 1 : 2
  return `${Number(value.toFixed(digits))} %`
}

/** `14:05`, with the date if the time shown is longer than a day. */
export const clock = (seconds: number, rangeSeconds: number): string =>
  (rangeSeconds > DAY_S ? DATED : TIMED).format(new Date(seconds * 1000))

/** The begin of a step: `14:05:20`, or without seconds if the step is longer. */
export const stepTime = (seconds: number, step: number, rangeSeconds: number): string =>
  step < 60 ? PRECISE.format(new Date(seconds * 1000)) : clock(seconds, rangeSeconds)

const DAY_S = 86_400
const PRECISE = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })
const TIMED = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })
const DATED = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', hour: 'numeric', minute: '2-digit' })
