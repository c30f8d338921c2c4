/** Pseudo-random numbers that repeat for the same seed (mulberry32), so that a run can be repeated. */

export interface Random {
  /** Returns a number from 0 to 1. */
  next(): number
  /** Returns an integer from 0 to `below`, exclusive. */
  below(below: number): number
  one<T>(of: readonly T[]): T
  /** Returns a shuffled copy. */
  shuffled<T>(all: readonly T[]): T[]
}

export function random(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return {
    next,
    below,
    one: (of) => of[below(of.length)]!,
    shuffled(all) {
      const order = [...all]
      for (let i = order.length - 1; i > 0; i--) {
        const j = below(i + 1)
        ;[order[i], order[j]] = [order[j]!, order[i]!]
      }
      return order
    },
  }
}
