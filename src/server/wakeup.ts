/** A door bell within the process: whoever waits is woken by the next ring, at the latest after a while. */

export interface Wakeup {
  ring(): void
  /** Resolves at the next ring, after `ms`, or when `signal` aborts. A ring that nobody waited for counts for the next to wait. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export function createWakeup(): Wakeup {
  const waiting = new Set<() => void>()
  let missed = false
  return {
    ring() {
      missed = waiting.size === 0
      for (const wake of [...waiting]) wake()
    },
    wait(ms, signal) {
      if (missed || signal.aborted) {
        missed = false
        return Promise.resolve()
      }
      return new Promise((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          signal.removeEventListener('abort', wake)
          waiting.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        signal.addEventListener('abort', wake)
        waiting.add(wake)
      })
    },
  }
}
