/**
 * Delivers the logs to the subscribers of this process. A NOTIFY names a grown log, and a slow poll covers lost ones.
 * Each log is read once for all of its subscribers. README.md explains its use.
 */
import { setMaxListeners } from 'node:events'
import type { ChangeScope, DeploymentChanges } from '../../domain/change-feed/log.ts'
import type { EventScope, StoredEvent } from '../../domain/events/read.ts'
import type { Line } from '../../domain/logs/lines.ts'
import type { NewSamples } from '../../domain/metrics/follow.ts'
import type { Core } from '../../domain/transaction/context.ts'
import { LogType } from '../../domain/values/row-types.ts'
import { Semaphore } from '../../platform/async/semaphore.ts'
import { type Listening, listen } from '../../platform/postgres/listen.ts'
import { Feed, type FeedOptions } from './feed.ts'
import { LogEnds } from './log-ends.ts'
import { deploymentLog, eventLog, type LineScope, lineLog, metricLog } from './log-kinds.ts'
import { LogReader, type ReadBudget } from './log-reader.ts'

export interface RelayOptions {
  core: Pick<Core, 'db' | 'log' | 'clock' | 'observer'>
  /** `postgresql://…` of a direct connection, because LISTEN needs a session. null: there is none. */
  listenUrl: string | null
  /** Interval of the poll in ms; default 2,000. */
  pollEvery?: number
  /** Recent items kept per log; default 1,000. */
  capacity?: number
}

export function createRelay(options: RelayOptions): Relay {
  return new Relay(options)
}

export class Relay {
  readonly events: Feed<StoredEvent, EventScope>
  readonly deployments: Feed<DeploymentChanges, ChangeScope>
  readonly lines: Readonly<Record<LogType, Feed<Line, LineScope>>>
  readonly metrics: Feed<NewSamples, undefined>
  readonly logEnds: LogEnds
  readonly #core: RelayOptions['core']
  readonly #listenUrl: string | null
  readonly #pollEvery: number
  readonly #ending = new AbortController()
  #listening: Listening | null = null
  #poll: NodeJS.Timeout | null = null

  constructor({ core, listenUrl, pollEvery = 2_000, capacity = 1_000 }: RelayOptions) {
    // every wait for the database adds a listener
    setMaxListeners(0, this.#ending.signal)
    this.#core = core
    this.#listenUrl = listenUrl
    this.#pollEvery = pollEvery
    const common: FeedOptions = {
      log: core.log,
      capacity,
      stopping: this.stopping,
      clock: core.clock,
      onNeeded: () => this.#keepPolling(),
    }
    this.events = new Feed(eventLog(core.db), {
      ...common,
      relayed: (seconds) => this.#core.observer?.relayed(seconds),
    })
    this.deployments = new Feed(deploymentLog(core.db), common)
    // shared by both types and LogEnds, so that followed logs leave connections to requests and events
    const budget: ReadBudget = { past: new Semaphore(1), live: new Semaphore(2) }
    const lines = (type: LogType) => new Feed(lineLog(core.db, type), { ...common, budget })
    this.lines = { build: lines(LogType.build), deploy: lines(LogType.deploy) }
    this.metrics = new Feed(metricLog(core.db), common)
    this.logEnds = new LogEnds({
      db: core.db,
      reader: new LogReader(core.log, 'the state of the followed logs', this.stopping, budget),
      events: this.events,
      pollEvery,
      stopping: this.stopping,
    })
  }

  get #feeds(): readonly Feed<never, never>[] {
    return [this.events, this.deployments, this.lines.build, this.lines.deploy, this.metrics] as never
  }

  /** Aborts when the server stops. Streams have ended then, and new ones end immediately. */
  get stopping(): AbortSignal {
    return this.#ending.signal
  }

  /** Begins to listen, in the background. Without it only the poll finds changes. */
  start(): void {
    this.#listening ??= listen({
      url: this.#listenUrl,
      channels: [...new Set(this.#feeds.flatMap(({ kind }) => kind.channel ?? []))],
      onNotify: (channel, id) => {
        for (const feed of this.#feeds) if (feed.kind.channel === channel) feed.wake(id)
      },
      onConnect: () => void this.#compare(),
      log: this.#core.log,
    })
  }

  /** Ends every stream; each can continue on another server. */
  async stop(): Promise<void> {
    this.#ending.abort()
    if (this.#poll) clearTimeout(this.#poll)
    for (const feed of this.#feeds) feed.stop()
    await this.#listening?.close()
  }

  async #compare(): Promise<void> {
    await Promise.all(this.#feeds.map((feed) => feed.compare()))
  }

  #keepPolling(): void {
    if (this.stopping.aborted) return
    this.#poll ??= setTimeout(() => void this.#pollOnce(), this.#pollEvery)
  }

  async #pollOnce(): Promise<void> {
    await this.#compare()
    this.#poll = null
    if (this.#feeds.some(({ needed }) => needed)) this.#keepPolling()
  }
}
