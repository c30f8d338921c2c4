/**
 * Conditional writes (docs/api-rules.md#conditional-requests): what callers edit counts their edits, and a write can be
 * for certain ones alone. To be asked under the lock of the write, right after 404.
 */
import { PreconditionFailedError } from './errors.ts'

/** What a write asks of the resource: to be at one of these edits. Absent: it may be at any. */
export type IfMatch = readonly number[] | undefined

/** Throws PreconditionFailedError. `what`, `id`: as NotFoundError names it. */
export function requireVersion(
  ifMatch: IfMatch,
  what: string,
  id: string,
  { editVersion }: { editVersion: number },
): void {
  if (ifMatch && !ifMatch.includes(editVersion)) throw new PreconditionFailedError(what, id, editVersion)
}
