/** Appends log lines under a claim: those that a worker sends, and output that agents wrote while no server ran. */
import { Prisma } from '../../generated/prisma/client.ts'
import { ClaimLostError, NotFoundError } from '../errors/errors.ts'
import { appendLinesSql, linesAppended } from '../logs/append.ts'
import type { LogsRequest, OutputRequest } from '../protocol/protocol.ts'
import { isHeldUnder, type Scope } from '../repositories/lease.ts'
import type { Core, WriteCore } from '../transaction/context.ts'
import { returningLostTry } from './liveness.ts'

/**
 * Appends `lines` if the output of `source` ends at `from`, and returns where it ends now. If that differs, the caller
 * continues from there: an answer was lost, or another server was faster. One statement. Throws ClaimLostError.
 */
export function appendOutput(core: Core, scope: Scope, request: OutputRequest): Promise<number> {
  return returningLostTry(core, scope, request, () => appendAt(core, scope, request))
}

/** The position commits with the lines: none is lost or doubled. */
async function appendAt(core: WriteCore, scope: Scope, request: OutputRequest): Promise<number> {
  const { source, from, to } = request
  const lines = request.lines.map((line) => ({ ...line, type: 'deploy' as const }))
  // the revision must belong to the deployment; any other id is forged
  const own = Prisma.sql`
    WHERE EXISTS (SELECT 1 FROM revisions r WHERE r.id = l.revision_id AND r.deployment_id = turn.id)`
  const [claimed] = await core.db.$queryRaw<{ id: string; moved: boolean; line: bigint }[]>`
    WITH claimed AS MATERIALIZED (
      SELECT d.id, p.line FROM deployments d
      LEFT JOIN output_positions p ON p.deployment_id = d.id AND p.source = ${source}
      WHERE ${isHeldUnder(scope, request)}
    ), moved AS (
      INSERT INTO output_positions AS p (deployment_id, source, line)
      SELECT id, ${source}, ${to}::bigint FROM claimed WHERE coalesce(line, 0) = ${from}::bigint AND ${to}::bigint > ${from}::bigint
      ON CONFLICT (deployment_id, source) DO UPDATE SET line = EXCLUDED.line WHERE p.line = ${from}::bigint
      RETURNING p.deployment_id AS id
    ), ${appendLinesSql(Prisma.sql`SELECT id FROM moved`, lines, own)}
    SELECT id::text, EXISTS (SELECT 1 FROM moved) AS moved, coalesce(line, 0) AS line FROM claimed`
  if (!claimed) throw new ClaimLostError()
  if (!claimed.moved) return Number(claimed.line)
  linesAppended(core, claimed.id, lines.length)
  return to
}

/** One statement; never waits for the deployment's row. Throws ClaimLostError, and NotFoundError for the revision. */
export async function appendLogs(core: Core, scope: Scope, request: LogsRequest): Promise<void> {
  await returningLostTry(core, scope, request, () => append(core, scope, request))
}

async function append(core: WriteCore, scope: Scope, request: LogsRequest): Promise<void> {
  const { revisionId, attempt, entries } = request
  const lines = entries.map((entry) => ({ ...entry, revisionId, attempt }))
  const [claimed] = await core.db.$queryRaw<{ id: string; known: boolean }[]>`
    WITH claimed AS MATERIALIZED (
      SELECT d.id, EXISTS (
        SELECT 1 FROM revisions r WHERE r.id = ${revisionId}::uuid AND r.deployment_id = d.id) AS known
      FROM deployments d
      WHERE ${isHeldUnder(scope, request)}
    ), ${appendLinesSql(Prisma.sql`SELECT id FROM claimed WHERE known`, lines)}
    SELECT id::text, known FROM claimed`
  if (!claimed) throw new ClaimLostError()
  if (!claimed.known) throw new NotFoundError('Revision', revisionId)
  linesAppended(core, claimed.id, lines.length)
}
