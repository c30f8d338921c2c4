/**
 * Keeps the open responses, and completes them when their agent is ended on purpose. After a crash the connection is reset, so
 * that clients detect an incomplete answer.
 */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { entryOf } from './access-log-entry.ts'

/** time for a client to read its last bytes */
const FLUSH_MS = 5000
/** close frame with code 1001, "going away" (RFC 6455, 7.4.1) */
const GOING_AWAY = Buffer.from([0x88, 0x02, 0x03, 0xe9])

/** Closes the response with the client's connection: Node does so only for the first of pipelined requests. */
export function closeWithSocket(response: ServerResponse, socket: Duplex): void {
  const close = () => {
    response.destroyed = true
    response.emit('close')
  }
  // one for each pipelined request
  socket.setMaxListeners(0).once('close', close)
  response.once('close', () => socket.off('close', close))
}

/** Closes an upgraded socket when it has sent its last byte. Node would wait until the client's bytes are read. */
export function closeWhenFinished(client: Duplex): void {
  client.once('finish', () => {
    client.resume()
    setTimeout(() => client.destroy(), FLUSH_MS).unref()
  })
}

/** Returns a function that closes the client's WebSocket. It runs when the agent is gone and `isEnding`. */
export function endWebSocketProperly(client: Duplex, agent: Duplex, isEnding: () => boolean): () => void {
  const frames = new FrameBoundaries()
  agent.on('data', (bytes: Buffer) => frames.take(bytes))
  const entry = entryOf(client)
  if (entry) entry.isClosedProperly = () => frames.closed
  const end = () => {
    if (!client.writable) return
    // inside a frame, the client would read a close frame as payload
    client.end(frames.open || frames.closed ? undefined : GOING_AWAY)
    // the client's close frame has no receiver
    client.unpipe()
    client.resume()
    setTimeout(() => client.destroy(), FLUSH_MS).unref()
  }
  // runs before httpxy ends the client's side
  for (const event of ['end', 'error', 'close']) agent.prependListener(event, () => isEnding() && end())
  return end
}

/** Tracks frame boundaries in the server's bytes (RFC 6455, 5.2). */
export class FrameBoundaries {
  /** a close frame has passed */
  closed = false
  #head: number[] = []
  #payloadLeft = 0

  /** Whether a frame is incomplete. */
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

/** Payload length of a frame; null: its head is incomplete. */
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

interface Entry {
  response: ServerResponse | null
  before: Entry
  after: Entry | null
}

/**
 * The responses that are open. Not a `Set`: when V8 replaces the table of an old one, the former table keeps its responses, with all
 * that belongs to them, until the next full garbage collection. That took a quarter of the CPU time of a request.
 */
export class OpenResponses {
  size = 0
  readonly #head = { response: null, after: null } as unknown as Entry

  /** Keeps it until it closes, then calls `onClose`. */
  add(response: ServerResponse, onClose: () => void = () => undefined): void {
    const entry: Entry = { response, before: this.#head, after: this.#head.after }
    if (entry.after) entry.after.before = entry
    this.#head.after = entry
    this.size++
    response.once('close', () => {
      entry.before.after = entry.after
      if (entry.after) entry.after.before = entry.before
      // an old entry must not keep newer ones
      Object.assign(entry, { response: null, before: null, after: null })
      this.size--
      onClose()
    })
  }

  /** In no order. A copy: each may close while the caller goes through them. */
  get all(): ServerResponse[] {
    const responses: ServerResponse[] = []
    for (let entry = this.#head.after; entry; entry = entry.after) responses.push(entry.response!)
    return responses
  }
}
