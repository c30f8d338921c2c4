/**
 * A small cache of look-ups: few entries, short-lived, one look-up for many callers that ask at once. What a look-up
 * finds may be told to be forgotten; one under way at that moment is not kept either.
 */

export interface Found<T> {
  value: T
  /** what `forget` names it by */
  id: string
  /** ms for which it holds at most, when it ends by itself */
  holdsFor: number | null
}

export class LookupCache<T> {
  readonly #entries = new Map<string, { found: Found<T>; until: number }>()
  readonly #underWay = new Map<string, Promise<Found<T> | null>>()
  readonly #ttl: number
  readonly #size: number
  /** grows with every `forget`: what was asked before it may be out of date */
  #generation = 0

  /** `ttl` in ms; `size`: the most entries that are kept. */
  constructor({ ttl, size }: { ttl: number; size: number }) {
    this.#ttl = ttl
    this.#size = size
  }

  /** What is cached under `key`, or else what `look` finds. That nothing was found is not kept: a new key works at once. */
  async get(key: string, look: () => Promise<Found<T> | null>): Promise<T | null> {
    const entry = this.#entries.get(key)
    if (entry && entry.until > performance.now()) return entry.found.value
    this.#entries.delete(key)
    const asked = this.#underWay.get(key) ?? this.#ask(key, look)
    return (await asked)?.value ?? null
  }

  /** Forgets everything found under this id. */
  forget(id: string): void {
    this.#generation++
    this.#underWay.clear()
    for (const [key, { found }] of this.#entries) if (found.id === id) this.#entries.delete(key)
  }

  /** Forgets everything: something may have been missed. */
  clear(): void {
    this.#generation++
    this.#underWay.clear()
    this.#entries.clear()
  }

  #ask(key: string, look: () => Promise<Found<T> | null>): Promise<Found<T> | null> {
    const generation = this.#generation
    const asked = look()
      .then((found) => {
        if (found && generation === this.#generation) this.#keep(key, found)
        return found
      })
      .finally(() => {
        if (this.#underWay.get(key) === asked) this.#underWay.delete(key)
      })
    this.#underWay.set(key, asked)
    return asked
  }

  #keep(key: string, found: Found<T>): void {
    const oldest = this.#entries.keys().next()
    if (this.#entries.size >= this.#size && !oldest.done) this.#entries.delete(oldest.value)
    const until = performance.now() + Math.min(this.#ttl, found.holdsFor ?? Number.POSITIVE_INFINITY)
    this.#entries.set(key, { found, until })
  }
}
