/** The guard of writes with an Idempotency-Key (docs/api-rules.md#retries). domain/idempotency implements it. */

import type { Query } from '../paging/statements.ts'
import type { RawInput } from '../parsing/parse.ts'

export interface Entry {
  status: number
  /** JSON without values of secrets */
  answer: string
  /** the secret set with the answer's values; null: the answer has none */
  secretSetId: string | null
}

/** Thrown when the write was done before. It aborts the new write, and `once` answers from the entry. */
export class Repeated extends Error {
  readonly entry: Entry
  constructor(entry: Entry) {
    super('this was done before')
    this.entry = entry
  }
}

export interface Guard {
  /** For `parse`: violations of the key (`refused`), or the outcome to throw once the input is valid (`instead`). */
  readonly known: Pick<RawInput, 'refused' | 'instead'>
  /**
   * Call it first in the transaction. Throws Repeated, IDEMPOTENCY_IN_FLIGHT, or ValidationError if the key belongs to
   * another request.
   */
  open(query: Query): Promise<void>
  /** Sets the verb's answer. Without this call the verb has no answer. */
  keep(result: unknown): void
  /** Stores the outcome, after all other writes. */
  close(query: Query): Promise<void>
  /** The transaction was committed. Later writes of the call are not guarded. */
  committed(): void
  answer(entry: Entry): unknown
}

export interface Idempotency {
  /** violations of the whole request, for `parse` */
  readonly known: Pick<RawInput, 'refused' | 'instead'>
  /** The guard of the current write. `item`: index, if the request does several things. */
  guard(item?: number): Guard
  next(): void
}
