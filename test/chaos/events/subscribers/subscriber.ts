/**
 * An ideal client: it keeps its last cursor and continues there on another server when its stream ends early, is
 * refused or falls silent. It records what it received, in order.
 */
import { randomUUID } from 'node:crypto'
import type { Place, Server } from '../place.ts'
import { pause } from '../waiting.ts'
import type { End, Got, Scope, Wire } from './wire.ts'

/** Time in ms without a sign of life, while events are written, after which the client treats its stream as dead. */
const SILENCE_TIMEOUT_MS = 6000
/** Pause in ms between two attempts. */
const RETRY_PAUSE_MS = 100

/** One connection to one server. */
export interface Stream {
  server: Server
  /** Whether anything was received. */
  heard: boolean
  /** Whether its connection was silenced. It stays silent until the client gives up. */
  muted: boolean
  ended: Promise<End>
}

export interface SubscriberOptions {
  /** Name in the report; subscribers of one kind are reported together. */
  kind: string
  wire: Wire
  scope?: Scope
  key: string
  /** Cursor to begin after; null: begin with the present, and learn the position or state from the stream. */
  after: string | null
  /** Bypasses the proxy, which would buffer unread data instead of the server. */
  slow?: boolean
  /** Polls, so its connections may end at any time. */
  asks?: boolean
  /** Index of the server to try first. */
  first: number
}

export class Subscriber {
  readonly id = randomUUID()
  readonly kind: string
  readonly scope: Scope
  readonly key: string
  readonly got: Got[] = []
  /** The status that its first stream began with; null: it began after a cursor. */
  snapshot: Got | null = null
  began: string | null
  readonly slow: boolean
  readonly asks: boolean
  /** Number of ends of its streams, by kind. */
  readonly ends: Record<string, number> = {}
  /** The current or last stream. */
  stream: Stream | null = null
  #after: string | null
  #leave = new AbortController()
  #closed = false
  /** Resolves when it stops: it was closed, or its key became invalid. */
  readonly done: Promise<void>

  constructor(place: Place, options: SubscriberOptions) {
    const { kind, wire, scope = {}, key, after, slow = false, asks = false, first } = options
    this.kind = kind
    this.scope = scope
    this.key = key
    this.began = after
    this.#after = after
    this.slow = slow
    this.asks = asks
    this.done = this.#follow(place, wire, first)
  }

  /** Whether it knows its position: the first message of a stream has arrived. */
  get hasBegun(): boolean {
    return this.#after !== null
  }

  /** Makes it use another server, as if its connection had broken. */
  leave(): void {
    this.#leave.abort()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.leave()
    await this.done
  }

  async #follow(place: Place, wire: Wire, first: number): Promise<void> {
    for (let turn = first; !this.#closed; turn++) {
      const server = place.servers[turn % place.servers.length]!
      const end = await this.#connect(server, wire)
      if (this.#closed) return
      this.#count(end)
      if (end.cursor) this.#after = end.cursor
      if (end.how.startsWith('401 ')) return
      await pause(RETRY_PAUSE_MS)
    }
  }

  async #connect(server: Server, wire: Wire): Promise<End> {
    this.#leave = new AbortController()
    const { signal } = this.#leave
    // a paused reader hears nothing by its own choice
    const silent = this.slow ? null : setTimeout(() => this.leave(), SILENCE_TIMEOUT_MS)
    const ended = wire({
      url: this.slow ? server.direct : server.url,
      key: this.key,
      scope: this.scope,
      after: this.#after,
      got: (event) => this.#take(event),
      at: (cursor) => this.#isAt(cursor),
      heard() {
        stream.heard = true
        silent?.refresh()
      },
      signal,
    }).then((end) => (signal.aborted ? { how: 'left' } : end))
    const stream: Stream = { server, heard: false, muted: false, ended }
    this.stream = stream
    const end = await ended
    if (silent) clearTimeout(silent)
    return end
  }

  #take(event: Got): void {
    if (this.#after === null) this.snapshot = event
    else this.got.push(event)
    this.#after = event.cursor
  }

  #isAt(cursor: string): void {
    // before its first event and without a snapshot, so this is its starting position
    if (this.#after === null) this.began = cursor
    this.#after = cursor
  }

  #count({ how }: End): void {
    this.ends[how] = (this.ends[how] ?? 0) + 1
  }
}
