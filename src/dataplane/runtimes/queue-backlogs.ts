/** Counts the waiting runs in deployments' databases, and finds queues that complete none of them. */
import type { Progress } from '../../domain/protocol/protocol.ts'
import { resultWithin } from '../../platform/async/time-limit.ts'
import { PgClient } from '../../platform/postgres/pg-client.ts'

export interface QueueSettings {
  /** counts waiting runs */
  backlogQuery: string
  /** one value that changes when a run completes; null: none is running */
  progressQuery: string
  /** 0: no queue is looked at */
  stallSeconds: number
}

interface QueueToLookAt {
  deploymentId: string
  revisionId: string
  /** of the deployment's own role: the tables can be views with functions of the agent. Null: the database is not there. */
  uri: () => string | null
}

interface Queue {
  revisionId: string
  /** waiting runs; null: not known */
  backlog: number | null
  progress: string | null
  /** times of the last change, of the last progress, of the last look that succeeded, and of the next look */
  changedAt: number
  progressedAt: number
  knownAt: number
  nextAt: number
  /** ms until the look after that, while the database has no runs */
  pauseMs: number
}

/** Looks of a round, and concurrent ones. A look takes 10 ms of CPU, most of it for the login. */
const LOOKS_PER_ROUND = 100
const AT_ONCE = 4
/** A round begins no look after this time. The next round begins with the queues that waited longest. */
const ROUND_MS = 8000
/** A connection or a statement that takes longer is given up. */
const STATEMENT_MS = 2000
/** How long a backlog stays known while looks fail: an agent that hangs may use all its connections. */
const KNOWN_MS = 60_000
/** Pauses between looks at a database without a table of runs: each is twice the one before. */
const FIRST_PAUSE_MS = 10_000
const MAX_PAUSE_MS = 600_000
/** After this time without a change, runs are no longer open: an agent that was killed leaves them as they were. */
const MAX_OPEN_MS = 6 * 3_600_000
/** undefined_table, undefined_column */
const WITHOUT_RUNS = ['42P01', '42703']

export class QueueBacklogs {
  readonly #settings: QueueSettings
  readonly #now: () => number
  #queues = new Map<string, Queue>()
  #round: Promise<void> | null = null

  /** `settings`: absent: no queue is looked at. `now`: a monotonic clock in ms */
  constructor(settings: QueueSettings | undefined, now: () => number = () => performance.now()) {
    this.#settings = settings ?? { backlogQuery: '', progressQuery: '', stallSeconds: 0 }
    this.#now = now
  }

  /** Looks at these queues in the background, unless the last round has not ended. Forgets all others. Never rejects. */
  look(queues: readonly QueueToLookAt[]): Promise<void> {
    if (this.#settings.stallSeconds === 0) return Promise.resolve()
    this.#round ??= this.#lookAtAll(queues).finally(() => {
      this.#round = null
    })
    return this.#round
  }

  /** Waiting runs at the last look; null: not known, or the database has no runs. */
  backlog(deploymentId: string): number | null {
    return this.#queues.get(deploymentId)?.backlog ?? null
  }

  /** Runs wait or are running. */
  hasOpenRuns(deploymentId: string): boolean {
    const queue = this.#queues.get(deploymentId)
    if (!queue || this.#now() - queue.changedAt >= MAX_OPEN_MS) return false
    return Boolean(queue.backlog) || queue.progress !== null
  }

  /** Null: the queue completes runs, or none wait. */
  problem(deploymentId: string): Progress | null {
    const { backlog, progressedAt } = this.#queues.get(deploymentId) ?? { backlog: null, progressedAt: 0 }
    const { stallSeconds } = this.#settings
    if (!backlog || this.#now() - progressedAt < stallSeconds * 1000) return null
    // without the number of runs: each changed message is a change of the deployment
    const message = `Runs wait in its queue, and none was completed for ${stallSeconds} seconds (QUEUE_STALL_SECONDS).`
    return { reason: 'QUEUE_STALLED', message }
  }

  async #lookAtAll(queues: readonly QueueToLookAt[]): Promise<void> {
    const start = this.#now()
    this.#queues = new Map(queues.map((queue) => [queue.deploymentId, this.#known(queue)]))
    const due = queues
      .map((queue) => ({ ...queue, state: this.#queues.get(queue.deploymentId)! }))
      .filter(({ state }) => state.nextAt <= start)
      .sort((a, b) => a.state.nextAt - b.state.nextAt)
      .slice(0, LOOKS_PER_ROUND)
    const work = async () => {
      for (let next = due.shift(); next && this.#now() - start < ROUND_MS; next = due.shift())
        await this.#lookAt(next.uri(), next.state)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  #known({ deploymentId, revisionId }: QueueToLookAt): Queue {
    const before = this.#queues.get(deploymentId)
    if (before?.revisionId === revisionId) return before
    const now = this.#now()
    const times = { changedAt: now, progressedAt: now, knownAt: now, nextAt: 0 }
    return { revisionId, backlog: null, progress: null, ...times, pauseMs: FIRST_PAUSE_MS }
  }

  async #lookAt(uri: string | null, queue: Queue): Promise<void> {
    const before = queue.backlog
    try {
      const [backlog, progress] = await this.#read(uri)
      const now = this.#now()
      // the time in which nothing was known does not count
      const progressed = !before || backlog === 0 || progress !== queue.progress
      const progressedAt = progressed ? now : queue.progressedAt
      const changedAt = backlog !== before || progress !== queue.progress ? now : queue.changedAt
      const times = { changedAt, progressedAt, knownAt: now, nextAt: now, pauseMs: FIRST_PAUSE_MS }
      Object.assign(queue, { backlog, progress, ...times })
    } catch (error) {
      const now = this.#now()
      queue.nextAt = now
      const withoutRuns = WITHOUT_RUNS.includes(String((error as { code?: string }).code))
      if (withoutRuns || now - queue.knownAt >= KNOWN_MS) Object.assign(queue, { backlog: null, progress: null })
      if (!withoutRuns) return
      queue.nextAt += queue.pauseMs
      queue.pauseMs = Math.min(2 * queue.pauseMs, MAX_PAUSE_MS)
    }
  }

  async #read(connectionString: string | null): Promise<[backlog: number, progress: string | null]> {
    if (connectionString === null) throw new Error('The deployment has no database')
    const client = new PgClient({
      connectionString,
      application_name: 'pilothouse queue',
      connectionTimeoutMillis: STATEMENT_MS,
      query_timeout: STATEMENT_MS,
    })
    client.on('error', () => undefined)
    try {
      await client.connect()
      await client.query(`SET statement_timeout = ${STATEMENT_MS}; SET default_transaction_read_only = on`)
      // the agent's own types and functions could return a value of any size
      const value = async (query: string): Promise<string | null> =>
        (await client.query(`SELECT pg_catalog.left((${query})::text, 100) AS value`)).rows[0].value
      const backlog = Number(await value(this.#settings.backlogQuery))
      if (!(backlog >= 0)) throw new Error('QUEUE_BACKLOG_QUERY must return a number')
      return [backlog, await value(this.#settings.progressQuery)]
    } finally {
      await resultWithin(STATEMENT_MS, client.end()).catch(() => undefined)
      client.connection.stream.destroy()
    }
  }
}
