/**
 * Subscribers that share a text: each item is rendered once. Live subscribers get batches as the log grows; the others
 * read up to the group's position at their own pace, and then become live.
 */
import { Batch, type Frame, type Rendering } from './frames.ts'
import type { Selection } from './stream.ts'
import type { Subscriber } from './subscriber.ts'
import type { TimeSlice } from './time-slice.ts'
import type { Follower, Topic } from './topic.ts'

/** A rendered part of the log. */
interface RenderedPage {
  batches: readonly Batch[]
  /** The position that it reaches. */
  end: bigint
  /** The stream is complete after it. */
  last: boolean
}

const ITEMS_PER_PAGE = 200
/** Maximum size of a batch in characters, which limits the data added to a client's buffer. */
const MAX_BATCH_CHARS = 32_768
/** Subscribers served between two checks of the time slice. */
const SUBSCRIBERS_PER_CHECK = 64
/** A page stays in the cache for other subscribers at the same position. */
const PAGE_CACHE_MS = 1_000
const MAX_CACHED_PAGES = 16
/** A client that reads nothing of its waiting data for this time is cut off. */
const WRITE_STALL_TIMEOUT_MS = 60_000

export class Group<Item, Value> implements Follower<Item> {
  /** A subscriber that becomes live now has everything up to here. */
  position: bigint
  readonly #topic: Topic<Item>
  readonly #selection: Selection<Item, Value>
  readonly #rendering: Rendering
  readonly #pace: TimeSlice
  readonly #live = new Set<Subscriber>()
  readonly #catchingUp = new Set<Subscriber>()
  readonly #pages = new Map<string, Promise<RenderedPage>>()
  /** Every live subscriber has everything up to here. */
  #settled: bigint
  #running = false

  constructor(topic: Topic<Item>, selection: Selection<Item, Value>, rendering: Rendering, pace: TimeSlice) {
    this.#topic = topic
    this.#selection = selection
    this.#rendering = rendering
    this.#pace = pace
    this.position = topic.position ?? 0n
    this.#settled = this.position
  }

  get size(): number {
    return this.#live.size + this.#catchingUp.size
  }

  /** `first`: the snapshot to send first; null: none. */
  join(subscriber: Subscriber, first: Value | null): void {
    this.#catchingUp.add(subscriber)
    void this.#catchUp(subscriber, first)
  }

  remove(subscriber: Subscriber): void {
    this.#live.delete(subscriber)
    this.#catchingUp.delete(subscriber)
  }

  /** The topic has grown by `items`, starting at `before`. */
  onGrown(items: readonly Item[], before: bigint): void {
    const idle = !this.#running && this.position === before
    if (idle && (this.#live.size === 0 || !items.some(this.#selection.includes))) {
      this.position = this.#topic.position!
      this.#settled = this.position
    } else void this.#run()
    for (const subscriber of this.#catchingUp) {
      const lost = subscriber.behind && subscriber.position < this.#topic.evictedUpTo
      if (lost && !this.#topic.kind.allowsLag)
        subscriber.interrupt('STREAM_OVERFLOW', `More than ${this.#topic.capacity} events were waiting to be read.`)
    }
  }

  /** Ends all subscribers, each with its cursor. */
  stop(): void {
    for (const subscriber of [...this.#live, ...this.#catchingUp]) {
      if (subscriber.live) this.#settle(subscriber)
      subscriber.interrupt('UNAVAILABLE', 'This server is stopping.')
    }
  }

  /** Serves the live subscribers until they have everything. */
  async #run(): Promise<void> {
    if (this.#running) return
    this.#running = true
    try {
      while (this.#live.size > 0 && this.position < this.#topic.position!) {
        const { batches, end, last } = await this.#page(this.position, this.#topic.position!)
        const members = [...this.#live]
        this.position = end
        for (const batch of batches) await this.#deliver(batch, members)
        this.#settled = end
        if (last) for (const member of members) if (member.live) member.end({ complete: true })
      }
    } catch (error) {
      for (const member of this.#live) member.end({ error })
    }
    this.#running = false
    if (this.#live.size === 0 && this.#topic.position !== null) this.#settled = this.position = this.#topic.position
  }

  async #deliver(batch: Batch, members: readonly Subscriber[]): Promise<void> {
    for (let i = 0; i < members.length; i++) {
      if (i % SUBSCRIBERS_PER_CHECK === 0 && this.#pace.isUsedUp) await this.#pace.next()
      const member = members[i]!
      if (!member.live) continue
      if (member.outlet.full) this.#fallBehind(member)
      else member.take(batch)
    }
  }

  /** The client is too slow: from now on the subscriber reads at its own pace. */
  #fallBehind(subscriber: Subscriber): void {
    subscriber.behind = true
    this.#leaveLive(subscriber)
  }

  /** Completes the subscriber's stream at this position. */
  finish(subscriber: Subscriber, position: bigint): void {
    if (position > subscriber.knownEnd) subscriber.knownEnd = position
    subscriber.completesAtKnownEnd = true
    if (subscriber.live) this.#leaveLive(subscriber)
  }

  #leaveLive(subscriber: Subscriber): void {
    this.#settle(subscriber)
    subscriber.live = false
    this.#live.delete(subscriber)
    this.#catchingUp.add(subscriber)
    void this.#catchUp(subscriber, null)
  }

  /** Subscribers that no batch concerned still have an older position. */
  #settle(subscriber: Subscriber): void {
    if (subscriber.position < this.#settled) subscriber.position = this.#settled
  }

  /** Waits until the client reads more; cuts it off if it reads nothing for too long. */
  async #drained(subscriber: Subscriber): Promise<void> {
    const why = `What waits was not read within ${WRITE_STALL_TIMEOUT_MS / 1000} s.`
    const timer = setTimeout(() => subscriber.interrupt('STREAM_OVERFLOW', why), WRITE_STALL_TIMEOUT_MS).unref()
    await subscriber.outlet.drained()
    clearTimeout(timer)
  }

  async #catchUp(subscriber: Subscriber, first: Value | null): Promise<void> {
    try {
      if (first !== null) await this.#begin(subscriber, first)
      while (!subscriber.ended) {
        const target = subscriber.knownEnd > this.position ? subscriber.knownEnd : this.position
        if (subscriber.outlet.full) await this.#drained(subscriber)
        else if (subscriber.position < target) await this.#readOn(subscriber, target)
        else if (subscriber.completesAtKnownEnd) return subscriber.end({ complete: true })
        else return this.#goLive(subscriber)
      }
    } catch (error) {
      subscriber.end({ error })
    }
  }

  async #begin(subscriber: Subscriber, first: Value): Promise<void> {
    const batches = await this.#firstOf(subscriber.position, first)
    if (subscriber.ended) return
    for (const batch of batches) subscriber.outlet.send(batch)
    subscriber.begun = true
  }

  async #readOn(subscriber: Subscriber, target: bigint): Promise<void> {
    if (this.#pace.isUsedUp) await this.#pace.next()
    const { batches, end, last } = await this.#page(subscriber.position, target)
    for (const batch of batches) {
      while (subscriber.outlet.full && !subscriber.ended) await this.#drained(subscriber)
      if (subscriber.ended) return
      subscriber.take(batch)
    }
    if (end > subscriber.position) subscriber.position = end
    if (last) subscriber.end({ complete: true })
  }

  #goLive(subscriber: Subscriber): void {
    this.#catchingUp.delete(subscriber)
    this.#live.add(subscriber)
    subscriber.live = true
    subscriber.behind = false
    void this.#run()
  }

  /** A snapshot. Subscribers that begin at the same position share it. */
  async #firstOf(position: bigint, value: Value): Promise<readonly Batch[]> {
    const page = this.#cached(`first ${position}`, async () => ({
      batches: await this.#batches([{ value, position }]),
      end: position,
      last: false,
    }))
    return (await page).batches
  }

  /** Renders the page after `after`. The log reaches at least `target`. */
  #page(after: bigint, target: bigint): Promise<RenderedPage> {
    return this.#cached(`${after} ${target}`, async () => {
      const { items, end } = await this.#topic.read(after, target, ITEMS_PER_PAGE, this.#selection.scope)
      const { includes, isLast, isSent, value } = this.#selection
      const included = items.filter(includes)
      const final = isLast ? included.findIndex(isLast) : -1
      const sent = (final < 0 ? included : included.slice(0, final + 1)).filter((item) => isSent?.(item) ?? true)
      const entries = sent.map((item) => ({
        value: value(item),
        position: this.#topic.kind.positionOf(item),
      }))
      const reached = final < 0 ? end : this.#topic.kind.positionOf(included[final]!)
      return { batches: await this.#batches(entries), end: reached, last: final >= 0 }
    })
  }

  /** Reads and renders a page once for concurrent callers. */
  #cached(key: string, make: () => Promise<RenderedPage>): Promise<RenderedPage> {
    const known = this.#pages.get(key)
    if (known) return known
    const made = make()
    this.#pages.set(key, made)
    for (const [oldest] of this.#pages) if (this.#pages.size > MAX_CACHED_PAGES) this.#pages.delete(oldest)
    const forget = () => this.#pages.get(key) === made && this.#pages.delete(key)
    made.then(() => setTimeout(forget, PAGE_CACHE_MS).unref(), forget)
    return made
  }

  async #batches(entries: readonly { value: Value; position: bigint }[]): Promise<Batch[]> {
    if (entries.length === 0) return []
    const texts = await this.#rendering.render(entries.map(({ value }) => value))
    const batches: Batch[] = []
    let frames: Frame[] = []
    let size = 0
    for (const [i, { value, position }] of entries.entries()) {
      const text = texts[i]
      if (typeof text !== 'string') continue
      frames.push({ cursor: this.#topic.kind.cursorOf(this.#topic.id, position), position, value, text })
      size += text.length
      if (size < MAX_BATCH_CHARS) continue
      batches.push(new Batch(frames, position))
      frames = []
      size = 0
    }
    if (frames.length > 0) batches.push(new Batch(frames, frames.at(-1)!.position))
    return batches
  }
}
