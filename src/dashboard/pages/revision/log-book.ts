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
  more: boolean
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
  base: number
  /** what it has reached: the log's oldest line, and its newest as far as it is followed */
  atStart: boolean
  state: 'reading' | 'following' | 'ended' | 'still' | 'failed'
  /** why it failed, for people */
  wrong: string | null
  /** of the line that was asked for, until another one is */
  found: string | null
}

/** Lines of a page. */
const PAGE = 1_000
/** Lines in memory: some 4 MB. With lines that wrap each that is drawn moves all below it, which takes time in proportion to them. */
const MOST = 10_000
/** Around a line that is looked for. */
const BEFORE = 200
/** ms in which lines are collected before they are shown: a flood of them is drawn ten times a second */
const PACE = 100

export class LogBook {
  readonly #source: LogSource
  readonly #watchers = new Set<() => void>()
  #lines: Line[] = []
  #snapshot: Snapshot
  #base = 0
  #version = 0
  #leave: () => void = () => undefined
  #come: Line[] = []
  #timer: ReturnType<typeof setTimeout> | undefined
  #reading = false
  /** grows with each new beginning: answers to what was asked before are nobody's */
  #opened = 0
  #isNew = true

  constructor(source: LogSource) {
    this.#source = source
    this.#snapshot = { lines: [], version: 0, base: 0, atStart: false, state: 'reading', wrong: null, found: null }
  }

  readonly watch = (onChange: () => void): (() => void) => {
    this.#watchers.add(onChange)
    return () => this.#watchers.delete(onChange)
  }
  readonly snapshot = (): Snapshot => this.#snapshot

  /** Nothing of it was asked for yet. */
  get isNew(): boolean {
    return this.#isNew
  }

  /** A line of those that are here. Answers whether it is one. */
  point(cursor: string): boolean {
    const isHere = this.#lines.some((line) => line.cursor === cursor)
    if (isHere) this.#show({ found: cursor })
    return isHere
  }

  /** From the newest lines on, and then what comes. */
  openNewest(): Promise<void> {
    return this.#open(async () => {
      const { lines, more } = await this.#source.page({ last: PAGE })
      return () => {
        this.#lines = lines
        this.#follow({ atStart: !more })
      }
    })
  }

  /** From the oldest line on. */
  openOldest(): Promise<void> {
    return this.#open(async () => {
      const { lines, more } = await this.#source.page({ first: PAGE })
      return () => {
        this.#lines = lines
        if (more) this.#show({ state: 'still', atStart: true })
        else this.#follow({ atStart: true })
      }
    })
  }

  /** Around a line. */
  openAt(cursor: string): Promise<void> {
    return this.#open(async () => {
      const above = await this.#source.page({ last: BEFORE, before: cursor })
      const last = above.lines.at(-1)?.cursor
      const below = await this.#source.page(last === undefined ? { first: PAGE } : { first: PAGE, after: last })
      return () => {
        this.#lines = [...above.lines, ...below.lines]
        const shown = { atStart: !above.more, found: cursor }
        if (below.more) this.#show({ ...shown, state: 'still' })
        else this.#follow(shown)
      }
    })
  }

  /** One page before the first line. */
  earlier(): Promise<void> {
    const first = this.#lines[0]
    if (!first || this.#snapshot.atStart) return Promise.resolve()
    return this.#extend(async () => {
      const { lines, more } = await this.#source.page({ last: PAGE, before: first.cursor })
      return () => {
        this.#lines = [...lines, ...this.#lines]
        this.#base -= lines.length
        this.#letGo('newest')
        this.#show({ atStart: !more })
      }
    })
  }

  /** One page behind the last line, where it isn't followed. */
  later(): Promise<void> {
    const last = this.#lines.at(-1)
    if (!last || this.#snapshot.state !== 'still') return Promise.resolve()
    return this.#extend(async () => {
      const { lines, more } = await this.#source.page({ first: PAGE, after: last.cursor })
      return () => {
        this.#lines = [...this.#lines, ...lines]
        this.#letGo('oldest')
        if (more) this.#show({})
        else this.#follow({})
      }
    })
  }

  close(): void {
    this.#opened++
    this.#isNew = true
    this.#stop()
  }

  async #open(read: () => Promise<() => void>): Promise<void> {
    const opened = ++this.#opened
    this.#isNew = false
    this.#stop()
    this.#reading = false
    this.#lines = []
    this.#base = 0
    this.#show({ state: 'reading', wrong: null, found: null, atStart: false })
    await this.#settle(opened, read)
  }

  async #extend(read: () => Promise<() => void>): Promise<void> {
    if (this.#reading) return
    this.#reading = true
    const opened = this.#opened
    await this.#settle(opened, read)
    if (opened === this.#opened) this.#reading = false
  }

  async #settle(opened: number, read: () => Promise<() => void>): Promise<void> {
    try {
      const done = await read()
      if (opened === this.#opened) done()
    } catch (error) {
      if (opened === this.#opened) this.#show({ state: 'failed', wrong: (error as Error).message })
    }
  }

  #follow(shown: Partial<Snapshot>): void {
    this.#stop()
    this.#show({ ...shown, state: 'following' })
    let left = false
    const leave = this.#source.follow(this.#lines.at(-1)?.cursor ?? null, {
      line: (line) => {
        if (left) return
        this.#come.push(line)
        this.#timer ??= setTimeout(() => this.#flush(), PACE)
      },
      end: () => {
        if (left) return
        this.#flush()
        this.#show({ state: 'ended' })
      },
      failed: (message) => {
        if (left) return
        this.#flush()
        this.#show({ state: 'failed', wrong: message })
      },
    })
    this.#leave = () => {
      left = true
      leave()
    }
  }

  #stop(): void {
    this.#leave()
    this.#leave = () => undefined
    this.#flush()
  }

  #flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#come.length === 0) return
    for (const line of this.#come) this.#lines.push(line)
    this.#come = []
    this.#letGo('oldest')
    this.#show({})
  }

  /** What is too much, at one of its ends. */
  #letGo(end: 'oldest' | 'newest'): void {
    const over = this.#lines.length - MOST
    if (over <= 0) return
    if (end === 'oldest') {
      this.#lines = this.#lines.slice(over)
      this.#base += over
      this.#snapshot = { ...this.#snapshot, atStart: false }
    } else {
      this.#lines = this.#lines.slice(0, MOST)
      this.#leave()
      this.#leave = () => undefined
      this.#come = []
      this.#snapshot = { ...this.#snapshot, state: 'still' }
    }
  }

  #show(changed: Partial<Snapshot>): void {
    this.#version++
    this.#snapshot = { ...this.#snapshot, lines: this.#lines, base: this.#base, version: this.#version, ...changed }
    for (const watcher of this.#watchers) watcher()
  }
}
