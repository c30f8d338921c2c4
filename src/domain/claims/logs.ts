/** Appends the output that a holder sends from its build or agent. */
import { Prisma } from '../../generated/prisma/client.ts'
import { ClaimLostError, NotFoundError } from '../errors/errors.ts'
import { appendLinesSql } from '../logs/append.ts'
import type { LogsRequest } from '../protocol/protocol.ts'
import { isHeldUnder, type Scope } from '../repositories/lease.ts'
import type { Core } from '../transaction/context.ts'
import { returningLostTry } from './liveness.ts'

/** One statement; never waits for the deployment's row. Throws ClaimLostError, and NotFoundError for the revision. */
export async function appendLogs(core: Core, scope: Scope, request: LogsRequest): Promise<void> {
  await returningLostTry(core, scope, request, () => append(core, scope, request))
}

async function append(core: Core, scope: Scope, request: LogsRequest): Promise<void> {
  const { revisionId, attempt, entries } = request
  const lines = entries.map((entry) => ({ ...entry, revisionId, attempt }))
  const [claimed] = await core.db.$queryRaw<{ known: boolean }[]>`
    WITH claimed AS MATERIALIZED (
      SELECT d.id, EXISTS (
        SELECT 1 FROM revisions r WHERE r.id = ${revisionId}::uuid AND r.deployment_id = d.id) AS known
      FROM deployments d
      WHERE ${isHeldUnder(scope, request)}
    ), ${appendLinesSql(Prisma.sql`SELECT id FROM claimed WHERE known`, lines)}
    SELECT known FROM claimed`
  if (!claimed) throw new ClaimLostError()
  if (!claimed.known) throw new NotFoundError('Revision', revisionId)
  core.observer?.logged(lines.length)
}
