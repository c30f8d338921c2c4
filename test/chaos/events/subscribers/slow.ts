/** A reader that pauses repeatedly, each time until the server has had to buffer many events. */
import type { EventEmitter } from 'node:events'

/** A response, or a WebSocket. */
interface Pausable extends EventEmitter {
  pause(): void
  resume(): void
}

/** Reading time in ms between two pauses. */
const READING_MS = 500
const POLL_INTERVAL_MS = 50

/** `written`: returns the number of events so far; `still`: events written during a pause. */
export function slowly(written: () => number, still: number): (connection: Pausable) => void {
  return (connection) => {
    let timer = setTimeout(pause, READING_MS)
    connection.once('close', () => clearTimeout(timer))

    function pause(): void {
      connection.pause()
      const until = written() + still
      timer = setInterval(() => {
        if (written() < until) return
        clearInterval(timer)
        connection.resume()
        timer = setTimeout(pause, READING_MS)
      }, POLL_INTERVAL_MS)
    }
  }
}
