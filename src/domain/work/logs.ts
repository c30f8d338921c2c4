/** A holder hands on what its build or its agent printed. */
import { type Core, type Tx, transaction } from '../context.ts'
import { ClaimLostError, NotFoundError } from '../errors.ts'
import { appendLog } from '../logs/append.ts'
import { heard } from './heard.ts'
import { ofScope, type Scope } from './lease.ts'
import type { LogsRequest } from './protocol.ts'

/** Appends lines to the log of a revision of the claim's deployment. Throws ClaimLostError, and NotFoundError for the revision. */
export async function appendLogs(core: Core, scope: Scope, request: LogsRequest): Promise<void> {
  const { claimId, token, revisionId, attempt, entries } = request
  const append = async (tx: Tx) => {
    // locked, so that nobody else is given the lease before the lines are there
    const [held] = await tx.sql.$queryRaw<{ known: boolean }[]>`
      SELECT EXISTS (SELECT 1 FROM revisions r WHERE r.id = ${revisionId}::uuid AND r.deployment_id = d.id) AS known
      FROM deployments d
      WHERE d.claim_id = ${claimId}::uuid AND d.lease_token = ${token}::numeric AND d.lease_expires_at > now()
        AND d.torn_down_at IS NULL AND ${ofScope(scope)}
      FOR SHARE OF d`
    if (!held) throw new ClaimLostError()
    if (!held.known) throw new NotFoundError('Revision', revisionId)
    await appendLog(
      { db: tx.sql },
      entries.map((entry) => ({ ...entry, revisionId, attempt })),
    )
  }
  await heard(core, scope, request, () => transaction(core, append))
}
