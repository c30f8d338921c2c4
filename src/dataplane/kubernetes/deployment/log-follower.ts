/** Follows a limited number of container logs, newest pods first. Resumes after the last line received. */
import type { Logger } from 'pino'
import { backoff } from '../../../platform/async/retry.ts'
import { ApiRefused, Unreachable } from '../api-server/errors.ts'
import type { Cluster } from '../cluster/cluster.ts'

export interface LogSource {
  key: string
  namespace: string
  pod: string
  container: string
  /** true: the container is running; otherwise its log does not grow */
  running: boolean
  /** true: the run before the container's last restart */
  previous: boolean
  /** creation of the pod, ms since 1970 */
  createdAt: number
  /** only lines from this time on; undefined: all */
  since?: Date
  onLine: (line: string) => void
}

interface Entry {
  source: LogSource
  deploymentId: string
  abort: AbortController | null
  after?: string
  tries: number
  done: boolean
  /** timer of the next try. It is not compared with a clock, because timers may fire some ms early */
  timer: NodeJS.Timeout | null
}

const RETRY_MS = [1000, 30_000] as const
/** delays for a log that stays unavailable while the API server works: some nodes provide none */
const EMPTY_RETRY_MS = [1000, 3_600_000] as const
/** ms; a shorter stream without a line was useless; longer than a call's timeout */
const MIN_USEFUL_MS = 30_000

export class LogFollower {
  readonly #cluster: Cluster
  readonly #maxLogs: number
  readonly #log: Logger
  readonly #entries = new Map<string, Entry>()
  readonly #byDeployment = new Map<string, Set<string>>()
  #filling = false

  constructor(cluster: Cluster, maxLogs: number, log: Logger) {
    this.#cluster = cluster
    this.#maxLogs = maxLogs
    this.#log = log
  }

  set(deploymentId: string, sources: readonly LogSource[]): void {
    const before = this.#byDeployment.get(deploymentId)
    const keys = new Set(sources.map(({ key }) => key))
    for (const key of before ?? [])
      if (!keys.has(key)) {
        const entry = this.#entries.get(key)
        if (entry) end(entry)
        this.#entries.delete(key)
      }
    for (const source of sources) {
      const entry = this.#entries.get(source.key)
      if (entry) entry.source = source
      else
        this.#entries.set(source.key, {
          source,
          deploymentId,
          abort: null,
          tries: 0,
          done: false,
          timer: null,
        })
    }
    if (keys.size > 0) this.#byDeployment.set(deploymentId, keys)
    else this.#byDeployment.delete(deploymentId)
    if (before || keys.size > 0) this.#fillSoon()
  }

  close(): void {
    for (const entry of this.#entries.values()) end(entry)
    this.#entries.clear()
    this.#byDeployment.clear()
  }

  #fillSoon(): void {
    if (this.#filling) return
    this.#filling = true
    setImmediate(() => {
      this.#filling = false
      this.#fill()
    })
  }

  #fill(): void {
    const open = [...this.#entries.values()].filter(({ done }) => !done)
    // pod times have a resolution of seconds; among equal ones the last reported are newest
    if (open.length > this.#maxLogs) open.reverse().sort((a, b) => b.source.createdAt - a.source.createdAt)
    for (const { abort } of open.slice(this.#maxLogs)) abort?.abort()
    for (const entry of open.slice(0, this.#maxLogs)) if (!entry.abort && !entry.timer) void this.#follow(entry)
  }

  async #follow(entry: Entry): Promise<void> {
    const abort = new AbortController()
    entry.abort = abort
    const { namespace, pod, container, previous, since } = entry.source
    const options = {
      ...(previous ? { previous } : {}),
      ...(entry.after === undefined ? (since ? { since } : {}) : { after: entry.after }),
    }
    let useful = false
    const onLine = (line: string, _at: Date, stamp: string) => {
      entry.after = stamp
      entry.tries = 0
      useful = true
      entry.source.onLine(line)
    }
    const startedAt = performance.now()
    try {
      await this.#cluster.followLog({ namespace, name: pod }, container, options, onLine, abort.signal)
      // a proxy may end the stream of a running container
      if (!abort.signal.aborted) entry.done = !entry.source.running
    } catch (error) {
      entry.done = !(error instanceof Unreachable) && !(error instanceof ApiRefused && error.status === 400)
      if (entry.done && !(error instanceof ApiRefused && error.status === 404))
        this.#log.warn({ err: error, pod, container }, 'The log of a container can’t be followed')
    }
    entry.abort = null
    if (entry.done || this.#entries.get(entry.source.key) !== entry) return this.#fillSoon()
    if (performance.now() - startedAt > MIN_USEFUL_MS) useful = true
    const [first, longest] = useful || this.#cluster.problem() !== null ? RETRY_MS : EMPTY_RETRY_MS
    const wait = abort.signal.aborted ? 0 : backoff(entry.tries++, first, longest)
    if (wait === 0) return this.#fillSoon()
    entry.timer = setTimeout(() => {
      entry.timer = null
      this.#fillSoon()
    }, wait)
  }
}

function end({ abort, timer }: Entry): void {
  abort?.abort()
  if (timer) clearTimeout(timer)
}
