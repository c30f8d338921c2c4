/** Who listens to which workspace's log, and how far each of these logs has been handed out. In memory, per process. */
import type { StoredEvent } from '../../domain/events/read.ts'
import { Mailbox } from './mailbox.ts'

/** A workspace with subscribers. */
export class Topic {
  readonly workspaceId: string
  readonly mailboxes = new Set<Mailbox>()
  /** everything up to this sequence number was handed out; null: not known yet where to begin */
  position: bigint | null = null

  constructor(workspaceId: string) {
    this.workspaceId = workspaceId
  }

  /** The log's counter was read as `sequence`: mailboxes without a place to begin get this one. */
  begin(sequence: bigint): void {
    this.position ??= sequence
    for (const mailbox of this.mailboxes) mailbox.since ??= this.position
  }

  /** Hands out events that follow `position`, in order. */
  publish(events: readonly StoredEvent[]): void {
    for (const event of events) {
      for (const mailbox of this.mailboxes) mailbox.offer(event)
      this.position = event.sequence
    }
  }
}

export class Hub {
  readonly topics = new Map<string, Topic>()
  readonly #capacity: number

  /** `capacity`: of each mailbox, in events. */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Registers a subscriber at once: whatever is handed out from now on reaches it. It leaves by `close()`. */
  join(workspaceId: string, wants: (event: StoredEvent) => boolean): Mailbox {
    const topic = this.topics.get(workspaceId) ?? new Topic(workspaceId)
    this.topics.set(workspaceId, topic)
    const mailbox = new Mailbox(this.#capacity, wants, (leaving) => this.#leave(topic, leaving))
    mailbox.since = topic.position
    topic.mailboxes.add(mailbox)
    return mailbox
  }

  #leave(topic: Topic, mailbox: Mailbox): void {
    topic.mailboxes.delete(mailbox)
    if (topic.mailboxes.size === 0) this.topics.delete(topic.workspaceId)
  }

  /** Ends every subscriber. */
  close(): void {
    for (const topic of this.topics.values()) for (const mailbox of topic.mailboxes) mailbox.close()
  }
}
