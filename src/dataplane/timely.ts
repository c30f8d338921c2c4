/** Calls that have to be answered in time: one that hangs must not keep the next one from being tried. */
import type { ControlPlane } from '../domain/work/protocol.ts'

/**
 * Makes a call with a signal that aborts with `signal`, or after `ms`; then it rejects, whether the call heeds its signal
 * or not. Forwards by hand: AbortSignal.any keeps something of every call for as long as its sources live.
 */
export function timely<T>(ms: number, signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const cut = new AbortController()
    const forward = () => cut.abort(signal.reason)
    const giveUp = () => {
      if (over) return
      const late = new Error('The control plane did not answer in time')
      cut.abort(late)
      reject(late)
    }
    let over = false
    // in a process that was busy for long the answer may be there, and was only not read yet
    const timer = setTimeout(() => setImmediate(giveUp), ms)
    signal.addEventListener('abort', forward)
    if (signal.aborted) forward()
    call(cut.signal)
      .then(resolve, reject)
      .finally(() => {
        over = true
        clearTimeout(timer)
        signal.removeEventListener('abort', forward)
      })
  })
}

/** The calls of `plane` that nothing else ends have `ms` for their answer; claims and heartbeats say their own. */
export function answering(plane: ControlPlane, ms: number): ControlPlane {
  const never = new AbortController().signal
  const inTime = <R, A>(call: (request: R) => Promise<A>) => {
    return (request: R) => timely(ms, never, () => call(request))
  }
  return {
    ...plane,
    logs: inTime(plane.logs),
    complete: inTime(plane.complete),
    release: inTime(plane.release),
    releaseHolder: inTime(plane.releaseHolder),
  }
}
