/** Notes that a listener was heard from, in the statement that a call of its makes anyway. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Scope } from './lease.ts'

/**
 * A part of a WITH clause, with its comma; nothing for the built-in worker. Writes at most every 5 s, unless the version
 * is another one. `updated_at` stays what it says: when somebody changed the listener. Somebody who changes it now is
 * not waited for.
 */
export function seen({ listenerId }: Scope, version?: string): Prisma.Sql {
  if (listenerId === null) return Prisma.empty
  const told = Prisma.sql`coalesce(${version ?? null}::text, l.version)`
  return Prisma.sql`
    seen AS (
      UPDATE listeners SET last_seen_at = now(), version = unseen.told
      FROM (
        SELECT l.id, ${told} AS told FROM listeners l
        WHERE l.id = ${listenerId}::uuid
          AND (l.last_seen_at IS NULL OR l.last_seen_at < now() - interval '5 seconds' OR l.version IS DISTINCT FROM ${told})
        FOR NO KEY UPDATE SKIP LOCKED
      ) unseen WHERE listeners.id = unseen.id
    ),`
}
