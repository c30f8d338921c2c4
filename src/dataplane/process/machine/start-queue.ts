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

/** `servedAt`: time of the deployment's last request, in ms of Date.now(); 0: unknown */
export type EnqueueStart = (servedAt: number) => QueuedStart

interface Place {
  servedAt: number
  begin(): void
}

export function createStartQueue(maxStarting: number): EnqueueStart {
  const starting = new Set<Place>()
  /** the next one first */
  let waiting: Place[] = []
  let timer: NodeJS.Timeout | null = null

  function startNext(): void {
    timer = null
    for (const place of waiting.splice(0, maxStarting - starting.size)) {
      starting.add(place)
      setTimeout(() => end(place), MAX_START_MS).unref()
      place.begin()
    }
  }

  function end(place: Place): void {
    waiting = waiting.filter((other) => other !== place)
    if (starting.delete(place) && !timer) startNext()
  }

  return (servedAt) => {
    const place: Place = { servedAt, begin: () => undefined }
    const begun = new Promise<void>((resolve) => {
      place.begin = resolve
    })
    const after = waiting.findIndex((other) => other.servedAt < servedAt)
    waiting.splice(after < 0 ? waiting.length : after, 0, place)
    timer ??= setTimeout(startNext, BATCH_MS)
    return {
      begun,
      isWaiting: () => waiting.includes(place),
      ahead: () => starting.size + Math.max(0, waiting.indexOf(place)),
      end: () => end(place),
    }
  }
}
