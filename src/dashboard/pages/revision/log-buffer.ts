/**
 * A piece of a log in memory: lines in their order without a gap, which grows at both ends as it is read, and at its newest end
 * as lines come. It is bounded: what is far from where one reads is let go, and read again when one comes back. Knows neither
 * React nor GraphQL, so that a test can read a real log with it.
 */
export interface Line {
  cursor: string
  time: string
  level: 'debug' | 'info' | 'warning' | 'error' | 'critical'
  message: string
  /** it in its colours, as ANSI codes; null: it has none */
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
  /** whether there are lines before or behind it, in the direction that was asked for */
  hasMore: boolean
}

export interface LogSource {
  /** Throws what went wrong. */
  page(args: PageArgs): Promise<LogPage>
  /** Lines behind `after` (null: all), as they come. Answers how to stop. */
  follow(
    after: string | null,
    handlers: { line(line: Line): void; end(): void; failed(message: string): void },
  ): () => void
}

export interface Snapshot {
  /** The same array while it grows: look at `version`. */
  lines: readonly Line[]
  version: number
  /** The number of its first line: falls by as many as are read before it, grows as lines are let go. */
  firstIndex: number
  /** what it has reached: the log's oldest line, and its newest as far as it is followed */
  atStart: boolean
  state: 'reading' | 'following' | 'ended' | 'paused' | 'failed'
  /** why it failed, for people */
  error: string | null
  /** of the line that was asked for, until another one is */
  highlighted: string | null
}

/** Lines of a page. */
const PAGE_LINES = 1_000
/** Lines in memory: some 4 MB. With lines that wrap each that is drawn moves all below it, which takes time in proportion to them. */
const MAX_LINES = 10_000
/** Around a line that is looked for. */
const CONTEXT_LINES = 200
/** ms in which lines are collected before they are shown: a flood of them is drawn ten times a second */
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
  /** grows with each new beginning: answers to what was asked before are nobody's */
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

  /** Nothing of it was asked for yet. */
  get isUnopened(): boolean {
    return this.#isUnopened
  }

  /** A line of those that are here. Answers whether it is one. */
  highlight(cursor: string): boolean {
    const isHere = this.#lines.some((line) => line.cursor === cursor)
    if (isHere) this.#publish({ highlighted: cursor })
    return isHere
  }

  /** From the newest lines on, and then what comes. */
  openNewest(): Promise<void> {
    return this.#open(async () => {
      const { lines, hasMore } = await this.#source.page({ last: PAGE_LINES })
      return () => {
        this.#lines = lines
        this.#follow({ atStart: !hasMore })
      }
    })
  }

  /** From the oldest line on. */
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

  /** Around a line. */
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

  /** One page before the first line. */
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

  /** One page behind the last line, where it isn't followed. */
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

  /** What is too much, at one of its ends. */
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
