/**
 * How an open answer ends when its agent is ended: a chunked body with its last chunk, a WebSocket with close code 1001. When an
 * agent crashes, the connection is reset instead, so that a client can tell an incomplete answer.
 */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

/** time that a client has to read what it was sent last */
const FLUSH_MS = 5000
/** a close frame with code 1001, "going away" (RFC 6455, 7.4.1) */
const GOING_AWAY = Buffer.from([0x88, 0x02, 0x03, 0xe9])

/**
 * The proxy destroys a response when its agent is gone. From now on that ends the body instead, where `isEnding` and the body
 * has no length that its client counts on.
 */
export function endBodyProperly(response: ServerResponse, isEnding: () => boolean): void {
  const destroy = response.destroy.bind(response)
  response.destroy = (error) => {
    if (!isEnding() || !response.headersSent || response.hasHeader('content-length')) return destroy(error)
    if (!response.writableEnded) {
      response.end()
      setTimeout(destroy, FLUSH_MS).unref()
    }
    return response
  }
}

/** Returns what says goodbye to the client of this WebSocket. It is called when its agent is gone and `isEnding`. */
export function endWebSocketProperly(client: Duplex, agent: Duplex, isEnding: () => boolean): () => void {
  const frames = new FrameBoundaries()
  agent.on('data', (bytes: Buffer) => frames.take(bytes))
  const end = () => {
    if (!client.writable) return
    // inside of a frame the client would take it for a part of that
    client.end(frames.open || frames.closed ? undefined : GOING_AWAY)
    // its own close frame has nowhere to go
    client.unpipe()
    client.resume()
    setTimeout(() => client.destroy(), FLUSH_MS).unref()
  }
  // before httpxy ends the client's side
  for (const event of ['end', 'error', 'close']) agent.prependListener(event, () => isEnding() && end())
  return end
}

/** Finds out whether a frame is under way, from the bytes of the server's side (RFC 6455, 5.2). */
export class FrameBoundaries {
  /** a close frame has passed */
  closed = false
  #head: number[] = []
  #payloadLeft = 0

  /** Whether a frame has begun and not ended. */
  get open(): boolean {
    return this.#head.length > 0 || this.#payloadLeft > 0
  }

  take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.#payloadLeft > 0) {
        const taken = Math.min(this.#payloadLeft, bytes.length - at)
        this.#payloadLeft -= taken
        at += taken
        continue
      }
      this.#head.push(bytes[at++]!)
      const payload = payloadOf(this.#head)
      if (payload === null) continue
      if ((this.#head[0]! & 0x0f) === 0x8) this.closed = true
      this.#head = []
      this.#payloadLeft = payload
    }
  }
}

/** Bytes behind the head of a frame; null: the head is not complete. */
function payloadOf(head: number[]): number | null {
  const [, second] = head
  if (second === undefined) return null
  const short = second & 0x7f
  const lengthBytes = short === 127 ? 8 : short === 126 ? 2 : 0
  const mask = second & 0x80 ? 4 : 0
  if (head.length < 2 + lengthBytes + mask) return null
  if (lengthBytes === 0) return short
  return head.slice(2, 2 + lengthBytes).reduce((length, byte) => length * 256 + byte, 0)
}
