/** Reads a locked deployment and its parts in one statement, after the lock (README.md). */
import type { Tx } from '../transaction/context.ts'
import { fromJson } from '../transaction/tables.ts'
import type { LockedAggregate, LockedIntegration, LockedListener } from '../transaction/unit-of-work.ts'
import { inSql, OPEN } from '../values/lifecycle.ts'

export interface AggregateParts {
  /** a revision to read in addition */
  revisionId?: string
  /** also read the ended steps that were taken */
  withEndedSteps?: boolean
  /** also read the encrypted secret set and the integration, which only answers show */
  withSecretsAndIntegration?: boolean
}

/** SQL expression: the listener of deployments `d`, for listenerOf(). */
export const LISTENER_JSON = `(
  SELECT json_build_object('id', l.id, 'computeId', l.compute_id, 'lastSeenAt', l.last_seen_at, 'createdAt', l.created_at)
  FROM listeners l WHERE l.id = d.listener_id)`

interface Row {
  revisions: Record<string, unknown>[] | null
  steps: Record<string, unknown>[] | null
  set: Record<string, unknown> | null
  listener: Times<LockedListener> | null
  integration: Times<LockedIntegration> | null
}

/**
 * $1: the deployment · $2: a revision, or null · $3: whether to read ended steps · $4: whether to read what only answers show.
 * The last two are hidden from the planner (paging/statements.ts), which would otherwise plan every call.
 */
const READ_AGGREGATE = {
  name: 'facts of a deployment',
  text: `
    SELECT (SELECT json_agg(r) FROM revisions r WHERE r.id = ANY (ARRAY(
              SELECT o.id FROM revisions o WHERE o.deployment_id = d.id AND o.status IN (${inSql(OPEN)}))
              || ARRAY[d.latest_revision_id, d.active_revision_id, $2::uuid]) AND r.deployment_id = d.id) AS revisions,
           (SELECT json_agg(s) FROM (
              SELECT * FROM steps o WHERE o.deployment_id = d.id AND o.finished_at IS NULL
              UNION ALL
              SELECT * FROM steps b WHERE (SELECT $3::boolean) AND b.deployment_id = d.id
                AND b.finished_at IS NOT NULL AND b.first_taken_at IS NOT NULL) s) AS steps,
           (SELECT row_to_json(x) FROM secret_sets x WHERE (SELECT $4::boolean) AND x.id = d.secret_set_id) AS set,
           (SELECT json_build_object('name', i.name, 'removedAt', i.removed_at, 'suspendedAt', i.suspended_at)
            FROM integrations i WHERE (SELECT $4::boolean) AND i.id = d.integration_id) AS integration,
           ${LISTENER_JSON} AS listener
    FROM deployments d WHERE d.id = $1::uuid`,
}

/** At most one statement; none if the transaction has these parts already. */
export async function lockedAggregate(
  tx: Tx,
  { id }: { id: string },
  parts: AggregateParts = {},
): Promise<LockedAggregate> {
  const known = tx.unit.known.get(id)
  return known && has(known, parts) ? known : readLockedAggregate(tx, id, parts)
}

/** Send it after the statement that locks the deployment. */
export async function readLockedAggregate(tx: Tx, id: string, parts: AggregateParts): Promise<LockedAggregate> {
  const { revisionId = null, withEndedSteps = false, withSecretsAndIntegration = false } = parts
  const [row] = await tx.query<Row>(READ_AGGREGATE, [id, revisionId, withEndedSteps, withSecretsAndIntegration])
  const aggregate: LockedAggregate = {
    revisions: (row?.revisions ?? []).map((json) => fromJson('revision', json)),
    steps: (row?.steps ?? []).map((json) => fromJson('step', json)),
    secretSet: row?.set ? fromJson('secretSet', row.set) : null,
    listener: listenerOf(row?.listener),
    integration: row?.integration ? integrationOf(row.integration) : null,
    hasEndedSteps: withEndedSteps,
    hasSecretsAndIntegration: withSecretsAndIntegration,
    requestedRevisionId: revisionId,
  }
  tx.unit.known.set(id, aggregate)
  return aggregate
}

const has = (
  known: LockedAggregate,
  { revisionId, withEndedSteps, withSecretsAndIntegration }: AggregateParts,
): boolean =>
  (!withEndedSteps || known.hasEndedSteps) &&
  (!withSecretsAndIntegration || known.hasSecretsAndIntegration) &&
  (revisionId === undefined ||
    known.requestedRevisionId === revisionId ||
    known.revisions.some(({ id }) => id === revisionId))

/** A row from JSON, where times are text. */
export type Times<T> = { [K in keyof T]: T[K] extends Date ? string : T[K] extends Date | null ? string | null : T[K] }

export const timeOf = (text: string | null) => (text === null ? null : new Date(text))

export const listenerOf = (json: Times<LockedListener> | null | undefined): LockedListener | null =>
  json ? { ...json, lastSeenAt: timeOf(json.lastSeenAt), createdAt: new Date(json.createdAt) } : null

const integrationOf = (json: Times<LockedIntegration>): LockedIntegration => ({
  ...json,
  removedAt: timeOf(json.removedAt),
  suspendedAt: timeOf(json.suspendedAt),
})
