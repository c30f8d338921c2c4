/**
 * Part of a log in memory: consecutive lines. It grows at both ends by reading, and at the newest end by following.
 * Lines far from the reader are dropped and read again on return. Free of React and GraphQL, so tests can read a real log.
 */
export interface Line {
  cursor: string
  time: string
  level: 'debug' | 'info' | 'warning' | 'error' | 'critical'
  message: string
  /** the message with its ANSI colour codes; null: it has none */
  ansi: string | null
  attempt: number
}

export interface PageArgs {
  first?: number
  last?: number
  after?: string
  before?: string
}

export interface LogPage {
  lines: Line[]
  /** whether more lines exist in the requested direction */
  hasMore: boolean
}

export interface LogSource {
  /** Rejects with a message for the reader. */
  page(args: PageArgs): Promise<LogPage>
  /** Delivers the lines after the cursor `after` (null: all) as they appear. Returns a function that stops it. */
  follow(
    after: string | null,
    handlers: { line(line: Line): void; end(): void; failed(message: string): void },
  ): () => void
}

export interface Snapshot {
  /** The array is mutated in place: compare `version` instead. */
  lines: readonly Line[]
  version: number
  /** index of the first line: decreases when older lines are read, increases when lines are dropped */
  firstIndex: number
  /** whether the first line is the log's oldest */
  atStart: boolean
  state: 'reading' | 'following' | 'ended' | 'paused' | 'failed'
  /** why reading failed, for the reader */
  error: string | null
  /** cursor of the line that was asked for last */
  highlighted: string | null
}

const PAGE_LINES = 1_000
/** About 4 MB. The cost of drawing grows with it: a wrapped line that is measured moves all lines below it. */
const MAX_LINES = 10_000
/** Lines shown before a requested line. */
const CONTEXT_LINES = 200
/** New lines are collected this long, so that a flood of lines is drawn ten times a second. */
const FLUSH_INTERVAL_MS = 100

export class LogBuffer {
  readonly #source: LogSource
  readonly #listeners = new Set<() => void>()
  #lines: Line[] = []
  #snapshot: Snapshot
  #firstIndex = 0
  #version = 0
  #unfollow: () => void = () => undefined
  #incoming: Line[] = []
  #flushTimer: ReturnType<typeof setTimeout> | undefined
  #isExtending = false
  /** Increases with each open and close; results of an earlier generation are discarded. */
  #generation = 0
  #isUnopened = true

  constructor(source: LogSource) {
    this.#source = source
    this.#snapshot = {
      lines: [],
      version: 0,
      firstIndex: 0,
      atStart: false,
      state: 'reading',
      error: null,
      highlighted: null,
    }
  }

  readonly subscribe = (onChange: () => void): (() => void) => {
    this.#listeners.add(onChange)
    return () => this.#listeners.delete(onChange)
  }
  readonly getSnapshot = (): Snapshot => this.#snapshot

  /** True before the first open, and after `close`. */
  get isUnopened(): boolean {
    return this.#isUnopened
  }

  /** Highlights a line if it is in memory. Returns whether it is. */
  highlight(cursor: string): boolean {
    const isHere = this.#lines.some((line) => line.cursor === cursor)
    if (isHere) this.#publish({ highlighted: cursor })
    return isHere
  }

  /** Reads the newest lines and follows the log. */
  openNewest(): Promise<void> {
    return this.#open(async () => {
      const { lines, hasMore } = await this.#source.page({ last: PAGE_LINES })
      return () => {
        this.#lines = lines
        this.#follow({ atStart: !hasMore })
      }
    })
  }

  /** Reads the oldest lines, and follows the log if that is all of it. */
  openOldest(): Promise<void> {
    return this.#open(async () => {
      const { lines, hasMore } = await this.#source.page({ first: PAGE_LINES })
      return () => {
        this.#lines = lines
        if (hasMore) this.#publish({ state: 'paused', atStart: true })
        else this.#follow({ atStart: true })
      }
    })
  }

  /** Reads the lines around a line and highlights it. */
  openAt(cursor: string): Promise<void> {
    return this.#open(async () => {
      const above = await this.#source.page({ last: CONTEXT_LINES, before: cursor })
      const last = above.lines.at(-1)?.cursor
      const below = await this.#source.page(
        last === undefined ? { first: PAGE_LINES } : { first: PAGE_LINES, after: last },
      )
      return () => {
        this.#lines = [...above.lines, ...below.lines]
        const shown = { atStart: !above.hasMore, highlighted: cursor }
        if (below.hasMore) this.#publish({ ...shown, state: 'paused' })
        else this.#follow(shown)
      }
    })
  }

  /** Reads one page before the first line. */
  loadOlder(): Promise<void> {
    const first = this.#lines[0]
    if (!first || this.#snapshot.atStart) return Promise.resolve()
    return this.#extend(async () => {
      const { lines, hasMore } = await this.#source.page({ last: PAGE_LINES, before: first.cursor })
      return () => {
        this.#lines = [...lines, ...this.#lines]
        this.#firstIndex -= lines.length
        this.#trim('newest')
        this.#publish({ atStart: !hasMore })
      }
    })
  }

  /** Reads one page after the last line. Does nothing unless `paused`. */
  loadNewer(): Promise<void> {
    const last = this.#lines.at(-1)
    if (!last || this.#snapshot.state !== 'paused') return Promise.resolve()
    return this.#extend(async () => {
      const { lines, hasMore } = await this.#source.page({ first: PAGE_LINES, after: last.cursor })
      return () => {
        this.#lines = [...this.#lines, ...lines]
        this.#trim('oldest')
        if (hasMore) this.#publish({})
        else this.#follow({})
      }
    })
  }

  close(): void {
    this.#generation++
    this.#isUnopened = true
    this.#stop()
  }

  async #open(read: () => Promise<() => void>): Promise<void> {
    const generation = ++this.#generation
    this.#isUnopened = false
    this.#stop()
    this.#isExtending = false
    this.#lines = []
    this.#firstIndex = 0
    this.#publish({ state: 'reading', error: null, highlighted: null, atStart: false })
    await this.#runIfCurrent(generation, read)
  }

  async #extend(read: () => Promise<() => void>): Promise<void> {
    if (this.#isExtending) return
    this.#isExtending = true
    const generation = this.#generation
    await this.#runIfCurrent(generation, read)
    if (generation === this.#generation) this.#isExtending = false
  }

  async #runIfCurrent(generation: number, read: () => Promise<() => void>): Promise<void> {
    try {
      const apply = await read()
      if (generation === this.#generation) apply()
    } catch (error) {
      if (generation === this.#generation) this.#publish({ state: 'failed', error: (error as Error).message })
    }
  }

  #follow(shown: Partial<Snapshot>): void {
    this.#stop()
    this.#publish({ ...shown, state: 'following' })
    let stopped = false
    const unfollow = this.#source.follow(this.#lines.at(-1)?.cursor ?? null, {
      line: (line) => {
        if (stopped) return
        this.#incoming.push(line)
        this.#flushTimer ??= setTimeout(() => this.#flush(), FLUSH_INTERVAL_MS)
      },
      end: () => {
        if (stopped) return
        this.#flush()
        this.#publish({ state: 'ended' })
      },
      failed: (message) => {
        if (stopped) return
        this.#flush()
        this.#publish({ state: 'failed', error: message })
      },
    })
    this.#unfollow = () => {
      stopped = true
      unfollow()
    }
  }

  #stop(): void {
    this.#unfollow()
    this.#unfollow = () => undefined
    this.#flush()
  }

  #flush(): void {
    clearTimeout(this.#flushTimer)
    this.#flushTimer = undefined
    if (this.#incoming.length === 0) return
    for (const line of this.#incoming) this.#lines.push(line)
    this.#incoming = []
    this.#trim('oldest')
    this.#publish({})
  }

  /** Drops lines beyond `MAX_LINES` at one end. */
  #trim(end: 'oldest' | 'newest'): void {
    const over = this.#lines.length - MAX_LINES
    if (over <= 0) return
    if (end === 'oldest') {
      this.#lines = this.#lines.slice(over)
      this.#firstIndex += over
      this.#snapshot = { ...this.#snapshot, atStart: false }
    } else {
      this.#lines = this.#lines.slice(0, MAX_LINES)
      this.#unfollow()
      this.#unfollow = () => undefined
      this.#incoming = []
      this.#snapshot = { ...this.#snapshot, state: 'paused' }
    }
  }

  #publish(changed: Partial<Snapshot>): void {
    this.#version++
    this.#snapshot = {
      ...this.#snapshot,
      lines: this.#lines,
      firstIndex: this.#firstIndex,
      version: this.#version,
      ...changed,
    }
    for (const listener of this.#listeners) listener()
  }
}
