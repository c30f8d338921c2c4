/**
 * A client as it should be: it keeps the cursor of what it got last, and goes on from there with another server whenever its
 * stream ends before its time, is refused, or goes silent. What it got it keeps in the order in which it came.
 */
import { randomUUID } from 'node:crypto'
import type { Place, Server } from '../place.ts'
import { pause } from '../waiting.ts'
import type { End, Got, Scope, Wire } from './wire.ts'

/** ms without any sign of life while events are written, after which a client takes its stream for dead */
const SILENCE = 6000
/** ms between two tries */
const AGAIN = 100

/** One connection to one server. */
export interface Stream {
  server: Server
  /** something came */
  heard: boolean
  /** its connection was made silent, and stays so: nothing comes any more, until its client has enough of that */
  muted: boolean
  ended: Promise<End>
}

export interface SubscriberOptions {
  /** what it is called in the report; those of one kind are told of together */
  kind: string
  wire: Wire
  scope?: Scope
  key: string
  /** cursor that it begins behind; null: with the present, and it is told where or what that is */
  after: string | null
  /** past the proxy, which would take what nobody reads: the server has to feel it */
  slow?: boolean
  /** its connections are no streams, and end as they like */
  asks?: boolean
  /** which server comes first */
  first: number
}

export class Subscriber {
  readonly id = randomUUID()
  readonly kind: string
  readonly scope: Scope
  readonly key: string
  readonly got: Got[] = []
  /** the status that its first stream began with; null: it began behind a cursor */
  snapshot: Got | null = null
  began: string | null
  readonly slow: boolean
  readonly asks: boolean
  /** how often its streams ended in each way */
  readonly ends: Record<string, number> = {}
  /** the one that it has, or had last */
  stream: Stream | null = null
  #after: string | null
  #leave = new AbortController()
  #closed = false
  /** Resolves when it follows no more: it was closed, or its key is not good any more. */
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

  /** It knows where it is: the first thing that a stream begins with has come. */
  get hasBegun(): boolean {
    return this.#after !== null
  }

  /** Lets it go to another server, as if its connection were gone. */
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
      await pause(AGAIN)
    }
  }

  async #connect(server: Server, wire: Wire): Promise<End> {
    this.#leave = new AbortController()
    const { signal } = this.#leave
    // one that stands still hears nothing, and that is its own doing
    const silent = this.slow ? null : setTimeout(() => this.leave(), SILENCE)
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
    // before its first event, and without a snapshot: so this is where it begins
    if (this.#after === null) this.began = cursor
    this.#after = cursor
  }

  #count({ how }: End): void {
    this.ends[how] = (this.ends[how] ?? 0) + 1
  }
}
