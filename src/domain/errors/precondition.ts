/** Conditional writes (docs/api-rules.md#conditional-requests). Check the version under the lock, after the 404. */
import { PreconditionFailedError } from './errors.ts'

export type IfMatch = readonly number[] | undefined // absent: any version

/** Throws PreconditionFailedError. `kind`, `id`: as in NotFoundError. */
export function requireVersion(
  ifMatch: IfMatch,
  kind: string,
  id: string,
  { editVersion }: { editVersion: number },
): void {
  if (ifMatch && !ifMatch.includes(editVersion)) throw new PreconditionFailedError(kind, id, editVersion)
}
