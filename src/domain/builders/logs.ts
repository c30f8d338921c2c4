/** Appends the output of a builder's build. */
import { Prisma } from '../../generated/prisma/client.ts'
import { ClaimLostError } from '../errors/errors.ts'
import { appendLinesSql } from '../logs/append.ts'
import type { BuilderLogsRequest } from '../protocol/builders.ts'
import type { Core } from '../transaction/context.ts'
import { buildHeldUnderSql, returningLostTry } from './lease.ts'
import type { BuilderScope } from './scope.ts'

/** Appends to the build log of the claim's revision. Throws ClaimLostError. */
export function appendBuildLogs(core: Core, scope: BuilderScope, request: BuilderLogsRequest): Promise<void> {
  return returningLostTry(core, scope, request, () => append(core, scope, request))
}

async function append(core: Core, scope: BuilderScope, request: BuilderLogsRequest): Promise<void> {
  const [build] = await core.db.$queryRaw<{ revisionId: string; attempt: number }[]>`
    SELECT r.id AS "revisionId", r.attempt
    FROM steps s JOIN deployments d ON d.id = s.deployment_id JOIN revisions r ON r.id = s.revision_id
    WHERE ${buildHeldUnderSql(scope, request)}`
  if (!build) throw new ClaimLostError()
  const lines = request.entries.map((entry) => ({ ...entry, ...build, type: 'build' as const }))
  const [claimed] = await core.db.$queryRaw<unknown[]>`
    WITH claimed AS MATERIALIZED (
      SELECT d.id FROM steps s JOIN deployments d ON d.id = s.deployment_id WHERE ${buildHeldUnderSql(scope, request)}
    ), ${appendLinesSql(Prisma.sql`SELECT id FROM claimed`, lines)}
    SELECT id FROM claimed`
  if (!claimed) throw new ClaimLostError()
  core.observer?.logged(lines.length)
}
