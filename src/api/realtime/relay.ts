/**
 * Carries the event log to the subscribers of this process (docs/architecture.md#rules). A NOTIFY names a workspace that has
 * new events; for the case that one gets lost, a slow poll compares the counters of all workspaces with subscribers. Either
 * way the events are read from the log, from where the last read ended.
 */

import type { Core } from '../../domain/context/context.ts'
import {
  currentSequences,
  type EventScope,
  inScope,
  readEvents,
  removedUntil,
  type StoredEvent,
} from '../../domain/events/read.ts'
import { EVENT_CHANNEL } from '../../domain/outbox/append.ts'
import { type Listening, listen } from '../../platform/postgres/listen.ts'
import { Hub, type Topic } from './hub.ts'
import type { Mailbox } from './mailbox.ts'
import { RetryingReader } from './retrying-reader.ts'

export interface RelayOptions {
  core: Pick<Core, 'db' | 'log' | 'clock' | 'observer'>
  /** `postgresql://…` of a direct connection (no transaction pooler): LISTEN belongs to a session. null: there is none */
  listenUrl: string | null
  /** how often the counters are compared, in ms; default 2 s */
  pollEvery?: number
  /** the most events that wait for one subscriber; default 1,000 */
  capacity?: number
}

/** Events of one read. */
const BATCH = 500
/** Reads at a time, so that new events in many workspaces at once leave connections of the pool to others. */
const READERS = 4

export function createRelay(options: RelayOptions): Relay {
  return new Relay(options)
}

export class Relay {
  readonly #core: Pick<Core, 'db' | 'log' | 'clock' | 'observer'>
  readonly #listenUrl: string | null
  readonly #pollEvery: number
  readonly #hub: Hub
  readonly #reader: RetryingReader
  readonly #ending = new AbortController()
  /** workspaces that have or may have new events */
  readonly #due = new Set<Topic>()
  readonly #reading = new Set<Topic>()
  #listening: Listening | null = null
  #poll: NodeJS.Timeout | null = null
  #checking = false
  #again = false

  constructor({ core, listenUrl, pollEvery = 2_000, capacity = 1_000 }: RelayOptions) {
    this.#core = core
    this.#listenUrl = listenUrl
    this.#pollEvery = pollEvery
    this.#hub = new Hub(capacity)
    this.#reader = new RetryingReader(core.log)
  }

  /** Begins to listen, in the background. Without it only the poll finds new events. */
  start(): void {
    this.#listening ??= listen({
      url: this.#listenUrl,
      channels: [EVENT_CHANNEL],
      onNotify: (_channel, workspaceId) => this.#wake(workspaceId),
      onConnect: () => void this.#compare(),
      log: this.#core.log,
    })
  }

  /** Its streams have ended, and new ones end at once. */
  get stopped(): boolean {
    return this.#ending.signal.aborted
  }

  /** Ends every stream, and says so: each can go on with another server. */
  async stop(): Promise<void> {
    this.#ending.abort()
    if (this.#poll) clearTimeout(this.#poll)
    this.#hub.close()
    await this.#listening?.close()
  }

  /** Registers a subscriber for the events of one workspace that are in `scope`. Then call `began` once. */
  subscribe(workspaceId: string, scope: EventScope): Mailbox {
    const mailbox = this.#hub.join(workspaceId, (event) => inScope(event, scope))
    if (this.stopped) mailbox.close()
    else this.#poll ??= setTimeout(() => void this.#pollOnce(), this.#pollEvery)
    return mailbox
  }

  /** A subscriber has read the workspace's counter after it registered: the place to begin for whoever has none. */
  began(workspaceId: string, sequence: bigint): void {
    const topic = this.#hub.topics.get(workspaceId)
    if (!topic) return
    topic.begin(sequence)
    if (topic.position! < sequence) this.#due.add(topic)
    this.#readDue()
  }

  /** Events after `after`, for a subscriber that catches up. Empty when its mailbox has ended. */
  async readOn(
    workspaceId: string,
    after: bigint,
    limit: number,
    scope: EventScope,
    mailbox: Mailbox,
  ): Promise<StoredEvent[]> {
    const read = () => readEvents(this.#core.db, workspaceId, after, limit, scope)
    return (await this.#reader.read(read, mailbox.ended)) ?? []
  }

  /** Everything up to this sequence number was removed. 0 when the mailbox has ended. */
  async removedUntil(workspaceId: string, mailbox: Mailbox): Promise<bigint> {
    return (await this.#reader.read(() => removedUntil(this.#core.db, workspaceId), mailbox.ended)) ?? 0n
  }

  #wake(workspaceId: string): void {
    const topic = this.#hub.topics.get(workspaceId)
    if (!topic) return
    this.#due.add(topic)
    this.#readDue()
  }

  async #pollOnce(): Promise<void> {
    await this.#compare()
    const idle = this.#hub.topics.size === 0 || this.stopped
    this.#poll = idle ? null : setTimeout(() => void this.#pollOnce(), this.#pollEvery)
  }

  /** One statement for all workspaces that have subscribers, none if there are none. */
  async #compare(): Promise<void> {
    // one that has begun may have read before the connection was there
    this.#again = true
    if (this.#checking) return
    this.#checking = true
    while (this.#again && this.#hub.topics.size > 0) {
      this.#again = false
      const counters = await this.#reader.read(
        () => currentSequences(this.#core.db, [...this.#hub.topics.keys()]),
        this.#ending.signal,
      )
      for (const [workspaceId, sequence] of counters ?? []) this.began(workspaceId, sequence)
    }
    this.#checking = false
  }

  /** Reads the logs that are due, several at a time, but each by one read at a time. */
  #readDue(): void {
    for (const topic of this.#due) {
      if (this.#reading.size >= READERS) return
      if (topic.mailboxes.size === 0) this.#due.delete(topic)
      // one that is being read, or does not know where to begin, stays due until it isn't
      else if (topic.position !== null && !this.#reading.has(topic)) void this.#readNext(topic, topic.position)
    }
  }

  async #readNext(topic: Topic, position: bigint): Promise<void> {
    this.#due.delete(topic)
    this.#reading.add(topic)
    const read = () => readEvents(this.#core.db, topic.workspaceId, position, BATCH)
    const events = (await this.#reader.read(read, this.#ending.signal)) ?? []
    topic.publish(events)
    const newest = events.at(-1)
    if (newest)
      this.#core.observer?.relayed(Math.max(0, this.#core.clock().getTime() - newest.occurredAt.getTime()) / 1000)
    if (events.length === BATCH) this.#due.add(topic)
    this.#reading.delete(topic)
    this.#readDue()
  }
}
