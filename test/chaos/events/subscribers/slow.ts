/** A reader who stands still again and again, until so much has been written that its server should have had enough. */
import type http from 'node:http'

/** `written`: events so far; `still`: how many are written while it stands still. */
export function slowly(written: () => number, still: number): (response: http.IncomingMessage) => void {
  return (response) => {
    const pause = () => {
      if (response.destroyed) return
      const until = written() + still
      response.pause()
      const look = setInterval(() => {
        if (written() < until && !response.destroyed) return
        clearInterval(look)
        response.resume()
        // what was kept for it is read, and then some
        response.once('data', () => setTimeout(pause, 500))
      }, 50)
    }
    response.once('data', pause)
  }
}
