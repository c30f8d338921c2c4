/** Times and durations that update themselves. One clock serves all of them, and stops in a hidden tab. */
import { useSyncExternalStore } from 'react'

const TICK_MS = 1_000
let now = Date.now()
const watchers = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function tick(): void {
  if (document.visibilityState === 'hidden') return
  now = Date.now()
  for (const watcher of watchers) watcher()
}

function watch(onTick: () => void): () => void {
  watchers.add(onTick)
  timer ??= setInterval(tick, TICK_MS)
  return () => {
    watchers.delete(onTick)
    if (watchers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Re-renders the component only when the text of `of(now)` changes. `of` runs each second. */
const useClock = (of: (now: number) => string): string => useSyncExternalStore(watch, () => of(now))

const MINUTE_S = 60
const HOUR_S = 60 * MINUTE_S
const DAY_S = 24 * HOUR_S

/** At most two units: `48 s`, `3 min 20 s`, `2 h 5 min`, `4 d`. */
function span(seconds: number): string {
  const s = Math.max(0, Math.floor(seconds))
  if (s < MINUTE_S) return `${s} s`
  if (s < 10 * MINUTE_S) return pair(s, MINUTE_S, 'min', 1, 's')
  if (s < HOUR_S) return `${Math.floor(s / MINUTE_S)} min`
  if (s < DAY_S) return pair(s, HOUR_S, 'h', MINUTE_S, 'min')
  return `${Math.floor(s / DAY_S)} d`
}

function pair(s: number, large: number, one: string, small: number, other: string): string {
  const rest = Math.floor((s % large) / small)
  return `${Math.floor(s / large)} ${one}${rest ? ` ${rest} ${other}` : ''}`
}

/** A finished step's duration, from ms: `0.4 s`, `12.3 s`, then like `span`. */
export const duration = (ms: number): string => (ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : span(ms / 1000))

const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** The full time in the user's time zone. `at`: ISO 8601. */
export const fullTime = (at: string): string => FULL.format(new Date(at))

const JUST_NOW_S = 5

function agoOf(at: number, now: number): string {
  const seconds = (now - at) / 1000
  return seconds < JUST_NOW_S
    ? 'just now'
    : `${span(seconds < MINUTE_S ? Math.floor(seconds / 5) * 5 : seconds).replace(/ \d+ (s|min)$/, '')} ago`
}

/** `3 min ago`, with the full time as tooltip. `at`: ISO 8601. */
export function TimeAgo({ at }: { at: string }) {
  const time = Date.parse(at)
  const text = useClock((now) => agoOf(time, now))
  return (
    <time dateTime={at} title={fullTime(at)}>
      {text}
    </time>
  )
}

/** The time since `since` (ISO 8601): `48 s`. */
export function Elapsed({ since }: { since: string }) {
  const time = Date.parse(since)
  const text = useClock((now) => span((now - time) / 1000))
  return (
    <time dateTime={since} title={`since ${fullTime(since)}`}>
      {text}
    </time>
  )
}
