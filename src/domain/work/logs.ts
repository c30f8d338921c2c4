/** A holder hands on what its build or its agent printed. */
import type { Core } from '../context.ts'
import { ClaimLostError } from '../errors.ts'
import { appendLog } from '../logs/append.ts'
import type { Scope } from './lease.ts'
import type { LogsRequest } from './protocol.ts'

/** Appends lines to the log of a revision of the claim's deployment. Throws ClaimLostError. */
export async function appendLogs(core: Core, scope: Scope, request: LogsRequest): Promise<void> {
  const [held] = await core.db.$queryRaw<unknown[]>`
    SELECT 1 FROM deployments d JOIN revisions r ON r.deployment_id = d.id
    WHERE d.claim_id = ${request.claimId}::uuid AND d.lease_token = ${request.token}::bigint AND d.lease_expires_at > now()
      AND d.listener_id IS NOT DISTINCT FROM ${scope.listenerId}::uuid AND r.id = ${request.revisionId}::uuid`
  if (!held) throw new ClaimLostError()
  const { revisionId, attempt } = request
  await appendLog(
    core,
    request.entries.map((entry) => ({ ...entry, revisionId, attempt })),
  )
}
