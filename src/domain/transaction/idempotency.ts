/**
 * The guard that makes a write with an Idempotency-Key happen once (docs/api-rules.md#retries), as verbs and transaction() see it.
 * domain/idempotency implements it.
 */
import type { RawInput } from '../parsing/parse.ts'
import type { Query } from '../sql/prepared-statement.ts'

/** The outcome of a write, as it is stored. */
export interface Entry {
  /** of HTTP */
  status: number
  /** JSON, without the values of secrets */
  answer: string
  /** where those of the answer are; null: it has none */
  secretSetId: string | null
}

/** Thrown where it turns out that the write was done before: it ends whatever was begun, and `once` answers from the entry. */
export class Repeated extends Error {
  readonly entry: Entry
  constructor(entry: Entry) {
    super('this was done before')
    this.entry = entry
  }
}

/** Of one write. */
export interface Guard {
  /** The outcome that is known before anything was done, or what forbids the call: for `parse`, which tells it when it is due. */
  readonly known: Pick<RawInput, 'refused' | 'instead'>
  /** First in the transaction. Throws Repeated; IDEMPOTENCY_IN_FLIGHT; ValidationError where the key is another request's. */
  open(query: Query): Promise<void>
  /** What the verb will answer. Without it the verb answers nothing. */
  keep(result: unknown): void
  /** In the transaction, when everything else is written: stores the outcome. */
  close(query: Query): Promise<void>
  /** It is committed: what else the call writes is not its business. */
  committed(): void
  /** What the verb answered then. */
  answer(entry: Entry): unknown
}

/** Of a request with an Idempotency-Key. */
export interface Idempotency {
  /** what forbids it as a whole; for `parse` */
  readonly known: Pick<RawInput, 'refused' | 'instead'>
  /** The guard of the write that it is at. `item`: of several things that this one does, the how manyth. */
  guard(item?: number): Guard
  /** The next write of the request begins. */
  next(): void
}
