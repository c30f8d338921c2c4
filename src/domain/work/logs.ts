/** A holder hands on what its build or its agent printed. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Core } from '../context.ts'
import { ClaimLostError, NotFoundError } from '../errors.ts'
import { appending } from '../logs/append.ts'
import { heard } from './heard.ts'
import { LEASE_HOLDS, ofScope, type Scope } from './lease.ts'
import type { LogsRequest } from './protocol.ts'

/**
 * Appends lines to the log of a revision of the claim's deployment. One statement, which neither waits for the
 * deployment's row nor locks it. Throws ClaimLostError, and NotFoundError for the revision.
 */
export async function appendLogs(core: Core, scope: Scope, request: LogsRequest): Promise<void> {
  await heard(core, scope, request, () => append(core, scope, request))
}

async function append(core: Core, scope: Scope, request: LogsRequest): Promise<void> {
  const { claimId, token, revisionId, attempt, entries } = request
  const lines = entries.map((entry) => ({ ...entry, revisionId, attempt }))
  const [held] = await core.db.$queryRaw<{ known: boolean }[]>`
    WITH held AS MATERIALIZED (
      SELECT d.id, EXISTS (
        SELECT 1 FROM revisions r WHERE r.id = ${revisionId}::uuid AND r.deployment_id = d.id) AS known
      FROM deployments d
      WHERE d.claim_id = ${claimId}::uuid AND d.lease_token = ${token}::numeric AND ${LEASE_HOLDS}
        AND d.torn_down_at IS NULL AND ${ofScope(scope)}
    ), ${appending(Prisma.sql`SELECT id FROM held WHERE known`, lines)}
    SELECT known FROM held`
  if (!held) throw new ClaimLostError()
  if (!held.known) throw new NotFoundError('Revision', revisionId)
  core.observer?.logged(lines.length)
}
