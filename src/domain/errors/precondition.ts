/**
 * Conditional writes (docs/api-rules.md#conditional-requests). Check the version under the write's lock, after the
 * 404.
 */
import { PreconditionFailedError } from './errors.ts'

/** Versions that a write accepts. Absent: any. */
export type IfMatch = readonly number[] | undefined

/** Throws PreconditionFailedError. `what`, `id`: as in NotFoundError. */
export function requireVersion(
  ifMatch: IfMatch,
  what: string,
  id: string,
  { editVersion }: { editVersion: number },
): void {
  if (ifMatch && !ifMatch.includes(editVersion)) throw new PreconditionFailedError(what, id, editVersion)
}
