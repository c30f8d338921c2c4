/** Conditional writes (docs/api-rules.md#conditional-requests). Check the version under the lock, after the 404. */
import { PreconditionFailedError } from './errors.ts'

export type IfMatch = readonly number[] | undefined // absent: any version

/** Throws PreconditionFailedError. `what`, `id`: as in NotFoundError. */
export function requireVersion(
  ifMatch: IfMatch,
  what: string,
  id: string,
  { editVersion }: { editVersion: number },
): void {
  if (ifMatch && !ifMatch.includes(editVersion)) throw new PreconditionFailedError(what, id, editVersion)
}
