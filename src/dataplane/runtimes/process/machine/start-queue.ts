/**
 * Starts of agents that find no supervisor, as after a restart of the machine or a restore: a few at a time, so that the first
 * ones serve soon. Agents that served most recently start first.
 */

/** Claims arrive in batches: the first turns are given when a batch is in line. */
const BATCH_MS = 50
/** An agent that is not ready by then takes no turn from others any more. */
const LONGEST_TURN_MS = 60_000

export interface Turn {
  /** resolves when it begins */
  begun: Promise<void>
  /** It has not begun, and is not over. */
  waits(): boolean
  /** how many are starting now, or start before it */
  ahead(): number
  /** Also of one that has not begun. */
  end(): void
}

interface Place {
  servedAt: number
  begin(): void
}

export class StartTurns {
  readonly #atATime: number
  readonly #starting = new Set<Place>()
  /** next first */
  #line: Place[] = []
  #timer: NodeJS.Timeout | null = null

  constructor(atATime: number) {
    this.#atATime = atATime
  }

  /** `servedAt`: when the deployment last had a request, in ms of Date.now(); 0: not known */
  take(servedAt: number): Turn {
    let begin: () => void = () => undefined
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const place: Place = { servedAt, begin }
    const after = this.#line.findIndex((other) => other.servedAt < servedAt)
    this.#line.splice(after < 0 ? this.#line.length : after, 0, place)
    this.#timer ??= setTimeout(() => this.#next(), BATCH_MS)
    return {
      begun,
      waits: () => this.#line.includes(place),
      ahead: () => this.#starting.size + Math.max(0, this.#line.indexOf(place)),
      end: () => this.#end(place),
    }
  }

  #next(): void {
    this.#timer = null
    for (const place of this.#line.splice(0, this.#atATime - this.#starting.size)) {
      this.#starting.add(place)
      setTimeout(() => this.#end(place), LONGEST_TURN_MS).unref()
      place.begin()
    }
  }

  #end(place: Place): void {
    this.#line = this.#line.filter((other) => other !== place)
    if (this.#starting.delete(place) && !this.#timer) this.#next()
  }
}
