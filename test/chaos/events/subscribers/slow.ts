/** A reader who stands still again and again, until so much has been written that its server should have had enough. */
import type { EventEmitter } from 'node:events'

/** A response, or a WebSocket. */
interface Pausable extends EventEmitter {
  pause(): void
  resume(): void
}

/** ms that it reads between two pauses */
const READS = 500
const LOOK = 50

/** `written`: events so far; `still`: how many are written while it stands still. */
export function slowly(written: () => number, still: number): (connection: Pausable) => void {
  return (connection) => {
    let timer = setTimeout(pause, READS)
    connection.once('close', () => clearTimeout(timer))

    function pause(): void {
      connection.pause()
      const until = written() + still
      timer = setInterval(() => {
        if (written() < until) return
        clearInterval(timer)
        connection.resume()
        timer = setTimeout(pause, READS)
      }, LOOK)
    }
  }
}
