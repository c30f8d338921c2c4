/**
 * Carries the logs to the subscribers of this process (docs/architecture.md#rules). A NOTIFY names a log that has news; for
 * the case that one gets lost, a slow poll compares the ends of all logs that somebody needs. Either way the log is read
 * from where the last read ended, once, however many wait for it.
 *
 * How to use it:
 * - **A stream** begins with `relay.events.hold(workspaceId)`, then the state is read that it begins with, then
 *   `relay.events.stream(hold, selection, beginning)` describes it (status-stream.ts does). A subscription's resolver returns
 *   that; `stream.open(rendering, outlet)` sends it, and `for await` reads its values.
 * - **Renderings**: `graphqlRendering` (api/graphql/subscriptions) executes a document; REST's forms are made like it. Its `key`
 *   decides who shares.
 * - **Outlets**: `openSse` (api/sse) for a response, of GraphQL or REST; `pull` for readers; a WebSocket's operation is one.
 * - **Waits**: `relay.events.watch(workspaceId, { wants, on })`, then `await ready`, then read the state; live events, no
 *   statement of its own. `relay.stopping` aborts when the server stops.
 * - **Another kind of log** (lines) is a `LogKind` (log-kind.ts), followed by a feed of its own beside `events`.
 */
import { setMaxListeners } from 'node:events'
import type { ChangeScope, DeploymentChanges } from '../../domain/change-feed/log.ts'
import type { EventScope, StoredEvent } from '../../domain/events/read.ts'
import type { Line } from '../../domain/logs/lines.ts'
import type { Core } from '../../domain/transaction/context.ts'
import { LogType } from '../../domain/values/row-types.ts'
import { Semaphore } from '../../platform/async/semaphore.ts'
import { type Listening, listen } from '../../platform/postgres/listen.ts'
import { deploymentLog } from './deployment-log.ts'
import { eventLog } from './event-log.ts'
import { Feed, type FeedOptions } from './feed.ts'
import { type LineScope, lineLog } from './line-log.ts'
import { LogEnds } from './log-ends.ts'
import { LogReader, type ReadBudget } from './log-reader.ts'
import { NotifyRequests } from './notify-requests.ts'

export interface RelayOptions {
  core: Pick<Core, 'db' | 'log' | 'clock' | 'observer'>
  /** `postgresql://…` of a direct connection (no transaction pooler): LISTEN belongs to a session. null: there is none */
  listenUrl: string | null
  /** how often the ends of the logs are compared, in ms; default 2 s */
  pollEvery?: number
  /** items of each log that are remembered; default 1,000 */
  capacity?: number
}

export function createRelay(options: RelayOptions): Relay {
  return new Relay(options)
}

export class Relay {
  /** the events of the workspaces */
  readonly events: Feed<StoredEvent, EventScope>
  /** what shows of the workspaces' deployments */
  readonly deployments: Feed<DeploymentChanges, ChangeScope>
  /** the lines of the deployments, of each type */
  readonly lines: Readonly<Record<LogType, Feed<Line, LineScope>>>
  /** says when logs are over */
  readonly logEnds: LogEnds
  /** asks the writers of logs to notify */
  readonly notifyRequests: NotifyRequests
  readonly #core: RelayOptions['core']
  readonly #listenUrl: string | null
  readonly #pollEvery: number
  readonly #ending = new AbortController()
  #listening: Listening | null = null
  #poll: NodeJS.Timeout | null = null

  constructor({ core, listenUrl, pollEvery = 2_000, capacity = 1_000 }: RelayOptions) {
    // everybody who waits for the database listens to it
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
    // of both types, with what asks whether they are over: however many logs are followed, requests and events have theirs
    const budget: ReadBudget = { past: new Semaphore(1), live: new Semaphore(2) }
    const lines = (type: LogType) => new Feed(lineLog(core.db, type), { ...common, budget })
    this.lines = { build: lines(LogType.build), deploy: lines(LogType.deploy) }
    this.notifyRequests = new NotifyRequests(core, this.stopping)
    this.logEnds = new LogEnds({
      db: core.db,
      reader: new LogReader(core.log, 'the state of the followed logs', this.stopping, budget),
      events: this.events,
      pollEvery,
      stopping: this.stopping,
    })
  }

  /** All kinds of logs. */
  get #feeds(): readonly Feed<never, never>[] {
    return [this.events, this.deployments, this.lines.build, this.lines.deploy] as never
  }

  /** Aborts when the server stops: streams have ended then, and new ones end at once. */
  get stopping(): AbortSignal {
    return this.#ending.signal
  }

  /** Begins to listen, in the background. Without it only the poll finds news. */
  start(): void {
    this.#listening ??= listen({
      url: this.#listenUrl,
      channels: [...new Set(this.#feeds.map(({ kind }) => kind.channel))],
      onNotify: (channel, id) => {
        for (const feed of this.#feeds) if (feed.kind.channel === channel) feed.wake(id)
      },
      onConnect: () => void this.#compare(),
      log: this.#core.log,
    })
  }

  /** Ends every stream, and says so: each can go on with another server. */
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
