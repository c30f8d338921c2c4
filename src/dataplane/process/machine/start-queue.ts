/**
 * Queues starts of agents without a supervisor, as after a reboot or a restore. A few start at a time, most recently used first,
 * so the first ones serve soon.
 */

/** Claims arrive in batches: wait for a whole batch before the first start. */
const BATCH_MS = 50
/** An agent that is not ready after this time no longer holds up others. */
const MAX_START_MS = 60_000

export interface QueuedStart {
  /** resolves when the start may begin */
  begun: Promise<void>
  isWaiting(): boolean
  /** number of starts that run now or come first */
  ahead(): number
  end(): void
}

interface Entry {
  servedAt: number
  begin(): void
}

export class StartQueue {
  readonly #maxStarting: number
  readonly #starting = new Set<Entry>()
  /** waiting starts, the next one first */
  #waiting: Entry[] = []
  #timer: NodeJS.Timeout | null = null

  constructor(atATime: number) {
    this.#maxStarting = atATime
  }

  /** `servedAt`: time of the deployment's last request, in ms of Date.now(); 0: unknown */
  enqueue(servedAt: number): QueuedStart {
    let begin: () => void = () => undefined
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const place: Entry = { servedAt, begin }
    const after = this.#waiting.findIndex((other) => other.servedAt < servedAt)
    this.#waiting.splice(after < 0 ? this.#waiting.length : after, 0, place)
    this.#timer ??= setTimeout(() => this.#startNext(), BATCH_MS)
    return {
      begun: begun,
      isWaiting: () => this.#waiting.includes(place),
      ahead: () => this.#starting.size + Math.max(0, this.#waiting.indexOf(place)),
      end: () => this.#end(place),
    }
  }

  #startNext(): void {
    this.#timer = null
    for (const place of this.#waiting.splice(0, this.#maxStarting - this.#starting.size)) {
      this.#starting.add(place)
      setTimeout(() => this.#end(place), MAX_START_MS).unref()
      place.begin()
    }
  }

  #end(place: Entry): void {
    this.#waiting = this.#waiting.filter((other) => other !== place)
    if (this.#starting.delete(place) && !this.#timer) this.#startNext()
  }
}
