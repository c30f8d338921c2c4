/** Counts incoming calls by verb and resource. */
import type { Kind } from './kinds.ts'

export class Requests {
  readonly #counts = new Map<string, number>()

  record(verb: string, kind: Kind, subresource: string | null): void {
    const name = `${verb} ${kind.plural}${subresource ? `/${subresource}` : ''}`
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }

  /** Returns counts like `{ 'patch deployments': 2, 'watch pods': 1 }`. */
  get counts(): Record<string, number> {
    return Object.fromEntries(this.#counts)
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, n) => sum + n, 0)
  }

  /** Counts by verb, or by verb and resource. */
  count(verb: string, resource?: string): number {
    return [...this.#counts]
      .filter(([name]) => (resource === undefined ? name.startsWith(`${verb} `) : name === `${verb} ${resource}`))
      .reduce((sum, [, n]) => sum + n, 0)
  }

  reset(): void {
    this.#counts.clear()
  }
}
