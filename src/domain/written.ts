/**
 * A write answers with its own outcome (contract 2): what it has left is read in its transaction, while its locks are
 * held. Read after the commit it would be what others have made of it in the meantime, their secrets included.
 */
import type { Sql } from './context.ts'

/**
 * Reads the answer of a write as its last act before the commit. It only reads, and runs again when the transaction
 * is tried again. `W`: what the verb itself knows of what it has written.
 */
export type ReadBack<W, T> = (sql: Sql, written: W) => Promise<T>

/** Reads nothing: for who needs no more than what the verb knows. */
export const asWritten = async <W>(_sql: Sql, written: W): Promise<W> => written

/** What a write to a deployment knows when it is done. */
export interface Written {
  deploymentId: string
  /** the revision that this call made or moved; null: none */
  revisionId: string | null
}
