/**
 * Follows all logs of one kind for this server's streams and watchers. Each acquired log is read once, from the end of
 * the previous read, after a NOTIFY or a poll.
 */
import { takeSlot } from '../../domain/concurrency/concurrency-limit.ts'
import type { ReadContext } from '../../domain/transaction/context.ts'
import { createSingleflight } from '../../platform/async/batcher.ts'
import type { Log } from '../../platform/log/log.ts'
import type { Outlet, Rendering } from './frames.ts'
import { Group } from './group.ts'
import type { LogKind } from './log-kinds.ts'
import { LogReader, type ReadBudget } from './log-reader.ts'
import { type Beginning, Stream } from './stream.ts'
import { Subscriber } from './subscriber.ts'
import { TimeSlice } from './time-slice.ts'
import { Topic, type Watcher } from './topic.ts'

export interface FeedOptions {
  log: Log
  /** Number of recent items kept per log. A reader that is further behind and doesn't read is cut off. */
  capacity: number
  /** Aborts when the server stops. */
  stopping: AbortSignal
  clock: () => Date
  /** Limits the connections of its reads; default: a separate budget. */
  budget?: ReadBudget
  /** Called after items were published, with the age of the newest in s. */
  relayed?: (seconds: number) => void
  /** Called when a log is acquired. */
  onNeeded: () => void
}

export interface Watch {
  /** Resolves when no later commit can be missed. */
  ready: Promise<void>
  close(): void
}

const ITEMS_PER_READ = 500
/** Concurrent reads, so that changes in many logs leave connections of the pool to others. */
const MAX_CONCURRENT_READS = 4

export class Feed<Item, Scope = unknown> {
  readonly kind: LogKind<Item, Scope>
  /** Reads the state that a stream begins with, once for concurrent subscribers with the same key. */
  readonly state = createSingleflight()
  readonly #options: FeedOptions
  readonly #reader: LogReader
  readonly #pace = new TimeSlice()
  readonly #topics = new Map<string, Topic<Item>>()
  /** Topics with possible changes. */
  readonly #due = new Set<Topic<Item>>()
  readonly #reading = new Set<Topic<Item>>()
  #comparing = false
  #again = false

  constructor(kind: LogKind<Item, Scope>, options: FeedOptions) {
    this.kind = kind
    this.#options = options
    this.#reader = new LogReader(options.log, `the ${kind.name}`, options.stopping, options.budget)
  }

  /** Whether any log is followed. */
  get needed(): boolean {
    return this.#topics.size > 0
  }

  /** Tells a topic that its log reaches `position`, which was read after the topic was acquired. */
  #begin(topic: Topic<Item>, position: bigint): void {
    topic.begin(position)
    if (topic.position! < position) this.#due.add(topic)
    this.#readDue()
  }

  /**
   * Takes a concurrency slot and follows log `id`; then `begin` reads the starting point, so that no change in between is
   * missed. `onEnd` registers a function for the stream's end. Throws errors of `begin`, and RATE_LIMITED when the
   * workspace has too many streams.
   */
  async stream<Value>(
    ctx: ReadContext,
    id: string,
    begin: (topic: Topic<Item>, onEnd: (call: () => void) => void) => Promise<Beginning<Item, Value>>,
  ): Promise<Stream<Value>> {
    const atEnd = [takeSlot(ctx, 'streams')]
    const topic = this.#acquire(id)
    atEnd.push(() => this.#release(topic))
    const release = () => {
      for (const call of atEnd.splice(0)) call()
    }
    try {
      const beginning = await begin(topic, (call) => void atEnd.push(call))
      this.#begin(topic, beginning.knownEnd)
      return new Stream((rendering, outlet) => this.#open(topic, beginning, rendering, outlet, release), release)
    } catch (error) {
      release()
      throw error
    }
  }

  #open<Value>(
    topic: Topic<Item>,
    beginning: Beginning<Item, Value>,
    rendering: Rendering,
    outlet: Outlet,
    release: () => void,
  ): (error: unknown) => void {
    const { selection, snapshot } = beginning
    const key = `${selection.key} ${rendering.key}`
    const known = topic.followers.get(key) as Group<Item, Value> | undefined
    const group = known ?? new Group(topic, selection, rendering, this.#pace)
    topic.followers.set(key, group)
    const cursorOf = (position: bigint) => this.kind.cursorOf(topic.id, position)
    const subscriber = new Subscriber(outlet, beginning, cursorOf, () => {
      group.remove(subscriber)
      if (group.size === 0 && topic.followers.get(key) === group) topic.followers.delete(key)
      release()
    })
    outlet.begin?.(subscriber.cursor)
    outlet.onGone(() => subscriber.leave())
    if (this.#options.stopping.aborted) subscriber.interrupt('UNAVAILABLE', 'This server is stopping.')
    if (!subscriber.ended) group.join(subscriber, snapshot)
    if (!subscriber.ended) beginning.onOpen?.((end) => group.finish(subscriber, end))
    return (error) => subscriber.end({ error })
  }

  /** Calls `on` with each future item that `wants` accepts, without an additional statement. */
  watch(id: string, watcher: Watcher<Item>): Watch {
    const topic = this.#acquire(id)
    topic.watchers.add(watcher)
    const ready = topic.placed()
    if (topic.position === null) void this.compare()
    return {
      ready,
      close: () => {
        if (topic.watchers.delete(watcher)) this.#release(topic)
      },
    }
  }

  #acquire(id: string): Topic<Item> {
    const known = this.#topics.get(id)
    const topic = known ?? new Topic(id, this.kind as LogKind<Item, unknown>, this.#options.capacity, this.#reader)
    this.#topics.set(id, topic)
    topic.holders++
    this.#options.onNeeded()
    return topic
  }

  #release(topic: Topic<Item>): void {
    if (--topic.holders > 0) return
    this.#topics.delete(topic.id)
    this.#due.delete(topic)
  }

  /** Reports possible changes in a log. */
  wake(id: string): void {
    const topic = this.#topics.get(id)
    if (!topic) return
    this.#due.add(topic)
    this.#readDue()
  }

  /** Finds the logs that have grown, with one statement for all followed ones, or none if there are none. */
  async compare(): Promise<void> {
    // a comparison in progress may have read before this call
    this.#again = true
    if (this.#comparing) return
    this.#comparing = true
    while (this.#again && this.needed && !this.#options.stopping.aborted) {
      this.#again = false
      const positions = await this.#reader
        .read(() => this.kind.newest([...this.#topics.keys()]))
        .catch(() => new Map<string, bigint>())
      for (const [id, position] of positions) {
        const topic = this.#topics.get(id)
        if (topic) this.#begin(topic, position)
      }
    }
    this.#comparing = false
  }

  /** Ends every stream, each with its cursor. */
  stop(): void {
    for (const topic of this.#topics.values()) for (const follower of topic.followers.values()) follower.stop()
  }

  /** Reads the logs with changes, several concurrently, but each log only once at a time. */
  #readDue(): void {
    for (const topic of this.#due) {
      if (this.#reading.size >= MAX_CONCURRENT_READS) return
      // a topic that is being read, or has no position yet, stays in the set
      if (topic.position !== null && !this.#reading.has(topic)) void this.#readNext(topic, topic.position)
    }
  }

  async #readNext(topic: Topic<Item>, position: bigint): Promise<void> {
    // a log with more items goes to the end of the queue, so that it doesn't delay the others
    this.#due.delete(topic)
    this.#reading.add(topic)
    const read = () => this.kind.read(topic.id, position, ITEMS_PER_READ)
    const items = await this.#reader.read(read).catch(() => [])
    // the topic may have restarted at a later position during the read
    if (topic.position === position) topic.publish(items)
    const newest = items.at(-1)
    if (newest) {
      const age = this.#options.clock().getTime() - this.kind.occurredAt(newest).getTime()
      this.#options.relayed?.(Math.max(0, age) / 1000)
    }
    if (items.length === ITEMS_PER_READ && topic.holders > 0) this.#due.add(topic)
    this.#reading.delete(topic)
    this.#readDue()
  }
}
