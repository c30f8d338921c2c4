/**
 * Starts of agents that find no supervisor, as after a restart of the machine or a restore: a few at a time, so that the first
 * ones serve soon. Agents that served most recently start first.
 */

/** Claims arrive in batches: the first turns are given when a batch is in line. */
const BATCH_MS = 50
/** An agent that is not ready by then takes no turn from others any more. */
const MAX_START_MS = 60_000

export interface QueuedStart {
  /** resolves when it begins */
  begun: Promise<void>
  /** It has not begun, and is not over. */
  isWaiting(): boolean
  /** how many are starting now, or start before it */
  ahead(): number
  /** Also of one that has not begun. */
  end(): void
}

interface Entry {
  servedAt: number
  begin(): void
}

export class StartQueue {
  readonly #maxStarting: number
  readonly #starting = new Set<Entry>()
  /** next first */
  #waiting: Entry[] = []
  #timer: NodeJS.Timeout | null = null

  constructor(atATime: number) {
    this.#maxStarting = atATime
  }

  /** `servedAt`: when the deployment last had a request, in ms of Date.now(); 0: not known */
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
