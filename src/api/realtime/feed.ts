/**
 * Follows the logs of one kind for this server's streams and watchers: each log that somebody needs is read once, from
 * where the last read ended, when a NOTIFY or the poll says that there may be more.
 */

import { Singleflight } from '../../platform/async/singleflight.ts'
import type { Log } from '../../platform/log/log.ts'
import type { Outlet, Rendering } from './frames.ts'
import { Group } from './group.ts'
import type { LogKind } from './log-kind.ts'
import { LogReader, type ReadBudget } from './log-reader.ts'
import { type Beginning, type Selection, Stream } from './stream.ts'
import { Subscriber } from './subscriber.ts'
import { TimeSlice } from './time-slice.ts'
import { Topic, type Watcher } from './topic.ts'

export interface FeedOptions {
  log: Log
  /** items of a log that are remembered; who lacks more than that and does not read it is cut off */
  capacity: number
  /** the server stops */
  stopping: AbortSignal
  clock: () => Date
  /** connections that it may take; absent: those of the events */
  budget?: ReadBudget
  /** items were handed out; the last one was so many seconds old */
  relayed?: (seconds: number) => void
  /** somebody needs a log, for the first time after nobody did */
  onNeeded: () => void
}

/** Keeps a log being followed. */
export interface TopicHandle<Item> {
  readonly topic: Topic<Item>
  /** called more than once it does no harm */
  release(): void
  /** `release` calls it, too */
  onRelease(also: () => void): void
}

export interface Watch {
  /** from now on nothing that is committed is missed */
  ready: Promise<void>
  close(): void
}

/** Items of one read. */
const ITEMS_PER_READ = 500
/** Reads at a time, so that news in many logs at once leave connections of the pool to others. */
const MAX_CONCURRENT_READS = 4
/** ms for which a log that nobody needs is remembered: those whose network blinked come back. */
const UNUSED_TOPIC_TTL_MS = 30_000

export class Feed<Item, Scope = unknown> {
  readonly kind: LogKind<Item, Scope>
  readonly capacity: number
  readonly #options: FeedOptions
  readonly #reader: LogReader
  readonly #pace = new TimeSlice()
  readonly #states = new Singleflight()
  readonly #topics = new Map<string, Topic<Item>>()
  /** logs that have or may have news */
  readonly #due = new Set<Topic<Item>>()
  readonly #reading = new Set<Topic<Item>>()
  #comparing = false
  #again = false

  constructor(kind: LogKind<Item, Scope>, options: FeedOptions) {
    this.kind = kind
    this.capacity = options.capacity
    this.#options = options
    this.#reader = new LogReader(options.log, `the ${kind.name}`, options.stopping, options.budget)
  }

  /** Whether any log is needed. */
  get needed(): boolean {
    return [...this.#topics.values()].some(({ holders }) => holders > 0)
  }

  /** Call it before the state is read with which a stream begins: nothing from then on is missed. */
  acquire(id: string): TopicHandle<Item> {
    const topic =
      this.#topics.get(id) ?? new Topic(id, this.kind as LogKind<Item, unknown>, this.capacity, this.#reader)
    this.#topics.set(id, topic)
    topic.holders++
    this.#options.onNeeded()
    let held = true
    const also: (() => void)[] = []
    return {
      topic,
      release: () => {
        if (!held) return
        held = false
        for (const call of also) call()
        if (--topic.holders === 0) this.#retire(topic)
      },
      onRelease: (call) => void (held ? also.push(call) : call()),
    }
  }

  /** Reads the state with which a stream begins: once for many who come at the same time with the same `key`. */
  state<T>(key: string, read: () => Promise<T>): Promise<T> {
    return this.#states.read(key, read)
  }

  /** A log is known to reach `position`, read after it was held. */
  begin(topic: Topic<Item>, position: bigint): void {
    topic.begin(position)
    if (topic.position! < position) this.#due.add(topic)
    this.#readDue()
  }

  /** `hold`: taken before `beginning` was read; the stream releases it when it ends. */
  stream<Value>(
    hold: TopicHandle<Item>,
    selection: Selection<Item, Value>,
    beginning: Beginning<Value>,
  ): Stream<Value> {
    this.begin(hold.topic, beginning.knownEnd)
    return new Stream<Value>({
      capacity: this.capacity,
      open: (rendering, outlet) => this.#open(hold, selection, beginning, rendering, outlet),
      close: () => hold.release(),
    })
  }

  #open<Value>(
    hold: TopicHandle<Item>,
    selection: Selection<Item, Value>,
    beginning: Beginning<Value>,
    rendering: Rendering<Value>,
    outlet: Outlet<Value>,
  ): (error: unknown) => void {
    const { topic } = hold
    const key = `${selection.key} ${rendering.key}`
    const known = topic.followers.get(key) as Group<Item, Value> | undefined
    const group = known ?? new Group(topic, selection, rendering, this.#pace)
    topic.followers.set(key, group)
    const { position, knownEnd: floor, completesAtKnownEnd: until, snapshot: first } = beginning
    const subscriber = new Subscriber({
      outlet,
      position,
      knownEnd: floor,
      completesAtKnownEnd: until,
      begun: first === null,
      cursorOf: (at) => topic.cursorOf(at),
      release: () => {
        group.remove(subscriber)
        if (group.size === 0 && topic.followers.get(group.key) === group) topic.followers.delete(group.key)
        hold.release()
      },
    })
    outlet.begin?.(first === null ? topic.cursorOf(position) : null)
    outlet.onGone(() => subscriber.leave())
    if (this.#options.stopping.aborted) subscriber.interrupt('UNAVAILABLE', 'This server is stopping.')
    if (!subscriber.ended) group.join(subscriber, first)
    if (!subscriber.ended) beginning.onOpen?.((end) => group.finish(subscriber, end))
    return (error) => subscriber.end({ error })
  }

  /** Calls `on` with each item from now on that `wants` says yes to: live ones, without a read of its own. */
  watch(id: string, watcher: Watcher<Item>): Watch {
    const { topic, release } = this.acquire(id)
    topic.watchers.add(watcher)
    const ready = topic.placed()
    if (topic.position === null || topic.stale) void this.compare()
    return {
      ready,
      close() {
        topic.watchers.delete(watcher)
        release()
      },
    }
  }

  /** There may be news in a log. */
  wake(id: string): void {
    const topic = this.#topics.get(id)
    if (!topic || topic.holders === 0) return
    this.#due.add(topic)
    this.#readDue()
  }

  /** Looks which logs have grown: one statement for all that are needed, none if there are none. */
  async compare(): Promise<void> {
    // one that has begun may have read before
    this.#again = true
    if (this.#comparing) return
    this.#comparing = true
    while (this.#again && this.needed && !this.#options.stopping.aborted) {
      this.#again = false
      const ids = [...this.#topics.values()].filter(({ holders }) => holders > 0).map(({ id }) => id)
      const positions = await this.#reader.read(() => this.kind.newest(ids)).catch(() => new Map<string, bigint>())
      for (const [id, position] of positions) {
        const topic = this.#topics.get(id)
        if (topic) this.begin(topic, position)
      }
    }
    this.#comparing = false
  }

  /** Ends every stream, each with its cursor. */
  stop(): void {
    for (const topic of this.#topics.values()) for (const follower of topic.followers.values()) follower.stop()
  }

  #retire(topic: Topic<Item>): void {
    topic.stale = true
    const forget = () => {
      if (topic.holders === 0 && this.#topics.get(topic.id) === topic) this.#topics.delete(topic.id)
    }
    setTimeout(forget, UNUSED_TOPIC_TTL_MS).unref()
  }

  /** Reads the logs that are due, several at a time, but each by one read at a time. */
  #readDue(): void {
    for (const topic of this.#due) {
      if (this.#reading.size >= MAX_CONCURRENT_READS) return
      if (topic.holders === 0) this.#due.delete(topic)
      // one that is being read, or does not know where to begin, stays due until it isn't
      else if (topic.position !== null && !topic.stale && !this.#reading.has(topic))
        void this.#readNext(topic, topic.position)
    }
  }

  async #readNext(topic: Topic<Item>, position: bigint): Promise<void> {
    // at the end of the line if there is more, so that a log that grows without end does not keep others waiting
    this.#due.delete(topic)
    this.#reading.add(topic)
    const read = () => this.kind.read(topic.id, position, ITEMS_PER_READ)
    const items = await this.#reader.read(read).catch(() => [])
    // it may have begun anew meanwhile, further on
    if (topic.position === position) topic.publish(items)
    const newest = items.at(-1)
    if (newest) {
      const age = this.#options.clock().getTime() - this.kind.occurredAt(newest).getTime()
      this.#options.relayed?.(Math.max(0, age) / 1000)
    }
    if (items.length === ITEMS_PER_READ) this.#due.add(topic)
    this.#reading.delete(topic)
    this.#readDue()
  }
}
