/** Two writes that deadlock: each holds a row that the other waits for. */
import type { Sql } from '../../src/domain/transaction/context.ts'

export interface CrossedWrites {
  /** Number of times that either was begun. */
  readonly tries: number
  /** Changes two deployments; the second only after another write holds its first. */
  change(sql: Sql, first: string, second: string): Promise<void>
}

export function crossedWrites(): CrossedWrites {
  let waiting = 2
  let goOn: () => void
  const both = new Promise<void>((resolve) => {
    goOn = resolve
  })
  let tries = 0
  return {
    get tries() {
      return tries
    },
    async change(sql, first, second) {
      tries++
      await sql.$executeRaw`UPDATE deployments SET idle = true WHERE id = ${first}::uuid`
      if (--waiting === 0) goOn()
      await both
      await sql.$executeRaw`UPDATE deployments SET idle = true WHERE id = ${second}::uuid`
    },
  }
}
