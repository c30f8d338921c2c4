/** Reads all that a holder's call needs about its deployments, in one statement under their locks. */
import type { KeyRing } from '../crypto/keyring.ts'
import { LISTENER_JSON, listenerOf, type Times, timeOf } from '../repositories/locked-aggregate.ts'
import { type LockedDeployment, toChange } from '../repositories/locks.ts'
import { openSecrets } from '../secrets/secret-set.ts'
import type { Tx } from '../transaction/context.ts'
import { fromJson, type TableRows } from '../transaction/tables.ts'
import type { LockedAggregate, LockedListener } from '../transaction/unit-of-work.ts'
import { inSql, OPEN } from '../values/lifecycle.ts'
import type { Secret } from '../values/shapes.ts'

/** A build artifact, before the call. */
interface Artifact {
  name: string
  /** when a revision with it was last deployed; null: never */
  deployedAt: Date | null
  /** whether a revision with it has ended */
  ended: boolean
  /** ids of ended revisions with it, if the next deploy may forget it */
  endedIds: readonly string[]
}

export interface ClaimState {
  deployment: LockedDeployment
  /** the step that the call names, before the call; null: the deployment has no such step */
  requestedStep: TableRows['step'] | null
  /** for a BUILD step: revisions of its source without a commit; after a lost artifact: revisions with that artifact */
  siblings: readonly string[]
  /** for a BUILD step: revisions with its commit but without a commit message */
  withoutMessage: readonly string[]
  /** decrypted, by the id of their set: of open revisions and the active one; empty if not requested */
  secrets: ReadonlyMap<string, Secret[]>
  artifacts: readonly Artifact[]
  /** when the transaction began, by the database's clock */
  begunAt: Date
}

export interface StateRequest {
  deployment: LockedDeployment
  stepId?: string | undefined
  artifactLost?: boolean | undefined
}

/** keys are column names */
type Json = Record<string, unknown>

interface Row {
  id: string
  revisions: Json[] | null
  steps: Json[] | null
  sets: Json[] | null
  requested_step: Json | null
  siblings: string[] | null
  without_message: string[] | null
  artifacts: { artifact: string; at: string | null; ended: boolean; ids: string[] | null }[] | null
  listener: Times<LockedListener> | null
  begunAt: Date
}

const IS_OPEN = `r.status IN (${inSql(OPEN)})`
/** How many artifacts stay besides the one that is deployed. */
export const KEPT_OLD_ARTIFACTS = 4

/**
 * $1: deployments · $2: for each, the step or null · $3: whether its artifact is lost. Open steps are locked, because
 * liveness.ts returns tries under step locks alone. Sub-selects hide the array sizes from the planner
 * (paging/statements.ts).
 */
const READ_CLAIM_STATES = {
  name: 'claim states',
  text: `
    WITH requested AS (
      SELECT * FROM unnest((SELECT $1::uuid[]), (SELECT $2::uuid[]), (SELECT $3::boolean[])) AS a (id, step_id, artifact_lost)
    ), open_steps AS MATERIALIZED (
      SELECT s.* FROM steps s WHERE s.deployment_id = ANY ((SELECT $1::uuid[])::uuid[]) AND s.finished_at IS NULL ORDER BY s.id ${toChange('s').sql}
    )
    SELECT d.id, v.revisions, x.sets, w.steps, row_to_json(t) AS requested_step,
      CASE WHEN t.kind = 'BUILD' OR requested.artifact_lost THEN ARRAY(
        SELECT r.id FROM revisions b JOIN revisions r ON r.deployment_id = b.deployment_id
        WHERE b.id = t.revision_id AND CASE WHEN t.kind = 'BUILD'
          THEN r.repo_commit_sha IS NULL AND (r.id = b.id OR r.based_on_id = coalesce(b.based_on_id, b.id))
          ELSE r.artifact = b.artifact END
      ) END AS siblings,
      CASE WHEN t.kind = 'BUILD' THEN ARRAY(
        SELECT r.id FROM revisions b JOIN revisions r ON r.deployment_id = b.deployment_id AND r.repo_commit_sha = b.repo_commit_sha
        WHERE b.id = t.revision_id AND r.commit_message IS NULL
      ) END AS without_message,
      (SELECT json_agg(json_build_object('artifact', a.artifact, 'at', a.at, 'ended', a.ended,
                'ids', CASE WHEN a.nth > ${KEPT_OLD_ARTIFACTS} OR a.at IS NULL THEN (
                  SELECT json_agg(r.id) FROM revisions r WHERE r.deployment_id = d.id AND r.artifact = a.artifact AND NOT ${IS_OPEN}) END))
       FROM (SELECT r.artifact, max(r.deployed_at) AS at, bool_or(NOT ${IS_OPEN}) AS ended,
                    row_number() OVER (ORDER BY max(r.deployed_at) DESC NULLS LAST) AS nth
             FROM revisions r WHERE r.deployment_id = d.id AND r.artifact IS NOT NULL GROUP BY r.artifact) a) AS artifacts,
      ${LISTENER_JSON} AS listener,
      now() AS "begunAt"
    FROM requested JOIN deployments d ON d.id = requested.id
    LEFT JOIN steps t ON t.id = requested.step_id AND t.deployment_id = d.id
    CROSS JOIN LATERAL (
      SELECT json_agg(r) AS revisions, array_agg(r.secret_set_id) AS set_ids FROM (
        SELECT r.* FROM revisions r WHERE r.deployment_id = d.id AND ${IS_OPEN}
        UNION ALL
        SELECT r.* FROM revisions r WHERE r.id IN (d.active_revision_id, d.latest_revision_id) AND NOT ${IS_OPEN}
      ) r
    ) v
    CROSS JOIN LATERAL (SELECT json_agg(x) AS sets FROM secret_sets x WHERE x.id = ANY (v.set_ids)) x
    CROSS JOIN LATERAL (
      SELECT json_agg(s) AS steps FROM (
        SELECT s.* FROM open_steps s WHERE s.deployment_id = d.id
        UNION ALL
        SELECT s.* FROM steps s WHERE d.deleted_at IS NOT NULL AND s.deployment_id = d.id
          AND s.finished_at IS NOT NULL AND s.first_taken_at IS NOT NULL
      ) s
    ) w`,
}

export type ReadResult = { state: ClaimState } | { error: unknown }

/**
 * Returns results by deployment id, and stores the state for the rules in the unit of work. Secrets that can't be
 * decrypted fail only their own deployment. `keyring`: null to skip secrets.
 */
export async function readClaimStates(
  tx: Tx,
  keyring: KeyRing | null,
  requests: readonly StateRequest[],
): Promise<Map<string, ReadResult>> {
  const rows = await tx.query<Row>(READ_CLAIM_STATES, [
    requests.map(({ deployment }) => deployment.id),
    requests.map(({ stepId }) => stepId ?? null),
    requests.map(({ artifactLost }) => artifactLost ?? false),
  ])
  const byId = new Map(rows.map((row) => [row.id, row]))
  return new Map(
    requests.map(({ deployment }) => [deployment.id, toClaimState(tx, keyring, deployment, byId.get(deployment.id)!)]),
  )
}

function toClaimState(tx: Tx, keyring: KeyRing | null, deployment: LockedDeployment, row: Row): ReadResult {
  tx.unit.known.set(deployment.id, {
    revisions: (row.revisions ?? []).map((json) => fromJson('revision', json)),
    steps: (row.steps ?? []).map((json) => fromJson('step', json)),
    hasEndedSteps: deployment.deletedAt !== null,
    secretSet: null,
    integration: null,
    hasSecretsAndIntegration: false,
    requestedRevisionId: null,
    listener: listenerOf(row.listener),
  })
  try {
    return {
      state: {
        deployment,
        requestedStep: row.requested_step && fromJson('step', row.requested_step),
        siblings: row.siblings ?? [],
        withoutMessage: row.without_message ?? [],
        secrets: keyring ? openSets(keyring, row.sets ?? []) : new Map(),
        artifacts: (row.artifacts ?? []).map(({ artifact: name, at, ended, ids }) => ({
          name,
          deployedAt: timeOf(at),
          ended,
          endedIds: ids ?? [],
        })),
        begunAt: row.begunAt,
      },
    }
  } catch (error) {
    return { error }
  }
}

const openSets = (keyring: KeyRing, sets: readonly Json[]) =>
  new Map(sets.map((json) => fromJson('secretSet', json)).map((set) => [set.id, openSecrets(keyring, set)]))

/** The transaction's loaded state of a deployment, with all changes recorded so far. */
export function loadedAggregate(tx: Tx, { id }: LockedDeployment): LockedAggregate {
  const known = tx.unit.known.get(id)
  if (!known) throw new Error(`deployment ${id} was not read`)
  return known
}
