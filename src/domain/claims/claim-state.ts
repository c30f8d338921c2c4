/**
 * What a holder's call needs to know of the deployments that it is about, read at once under their locks: all that the rules
 * look at (it goes into the unit of work, so nobody reads it again), secrets in clear, and what builds have made.
 */

import type { KeyRing } from '../crypto/keyring.ts'
import { LISTENER_FACTS, listenerOf, type Times, timeOf } from '../repositories/locked-aggregate.ts'
import { type LockedDeployment, toChange } from '../repositories/locks.ts'
import { openSecrets } from '../secrets/secret-set.ts'
import type { Tx } from '../transaction/context.ts'
import { fromJson, type Rows } from '../transaction/tables.ts'
import type { Facts, ListenerFacts } from '../transaction/unit-of-work.ts'
import { inSql, OPEN } from '../values/lifecycle.ts'
import type { Secret } from '../values/shapes.ts'

/** What a build has made, as it is found before the call. */
interface Artifact {
  name: string
  /** the last time that a revision with it was deployed; null: never */
  deployedAt: Date | null
  /** a revision with it has ended */
  ended: boolean
  /** the revisions with it that have ended, where it may be forgotten at the next deploy */
  endedIds: readonly string[]
}

export interface ClaimState {
  deployment: LockedDeployment
  /** the step that was asked for, as it is before the call; null: it has none of this id */
  requestedStep: Rows['step'] | null
  /**
   * If that is a build: the revisions that have no commit yet and are pinned to that of the build. If it is none and
   * `artifactLost` was said: those that have the same artifact.
   */
  siblings: readonly string[]
  /** If it is a build: the revisions pinned to its commit of which nobody has told what that says: it was known before */
  withoutMessage: readonly string[]
  /** in clear, by the id of their set: of the open revisions and the active one; none where they were not asked for */
  secrets: ReadonlyMap<string, Secret[]>
  artifacts: readonly Artifact[]
  /** when the transaction began, by the database's clock */
  begunAt: Date
}

/** What is asked about a deployment that is locked. */
export interface StateRequest {
  deployment: LockedDeployment
  stepId?: string | undefined
  artifactLost?: boolean | undefined
}

/** By the names of the columns in SQL. */
type Json = Record<string, unknown>

interface Row {
  id: string
  revisions: Json[] | null
  steps: Json[] | null
  sets: Json[] | null
  asked: Json | null
  siblings: string[] | null
  speechless: string[] | null
  artifacts: { artifact: string; at: string | null; ended: boolean; ids: string[] | null }[] | null
  listener: Times<ListenerFacts> | null
  begunAt: Date
}

const IS_OPEN = `r.status IN (${inSql(OPEN)})`
/** So many artifacts stay beside the one that is deployed next (complete.ts). */
export const KEPT_OLD_ARTIFACTS = 4

/**
 * $1: deployments · $2: for each the step that is asked for, or null · $3: whether its artifact is lost. Open steps are
 * locked: tries are given back under their locks alone (liveness.ts). How many they are is not to be seen (sql/hide-from-planner.ts).
 */
const READ = {
  name: 'what is held',
  text: `
    WITH asked AS (
      SELECT * FROM unnest((SELECT $1::uuid[]), (SELECT $2::uuid[]), (SELECT $3::boolean[])) AS a (id, step_id, artifact_lost)
    ), open_steps AS MATERIALIZED (
      SELECT s.* FROM steps s WHERE s.deployment_id = ANY ((SELECT $1::uuid[])::uuid[]) AND s.finished_at IS NULL ORDER BY s.id ${toChange('s').sql}
    )
    SELECT d.id, v.revisions, x.sets, w.steps, row_to_json(t) AS asked,
      CASE WHEN t.kind = 'BUILD' OR asked.artifact_lost THEN ARRAY(
        SELECT r.id FROM revisions b JOIN revisions r ON r.deployment_id = b.deployment_id
        WHERE b.id = t.revision_id AND CASE WHEN t.kind = 'BUILD'
          THEN r.repo_commit_sha IS NULL AND (r.id = b.id OR r.based_on_id = coalesce(b.based_on_id, b.id))
          ELSE r.artifact = b.artifact END
      ) END AS siblings,
      CASE WHEN t.kind = 'BUILD' THEN ARRAY(
        SELECT r.id FROM revisions b JOIN revisions r ON r.deployment_id = b.deployment_id AND r.repo_commit_sha = b.repo_commit_sha
        WHERE b.id = t.revision_id AND r.commit_message IS NULL
      ) END AS speechless,
      (SELECT json_agg(json_build_object('artifact', a.artifact, 'at', a.at, 'ended', a.ended,
                'ids', CASE WHEN a.nth > ${KEPT_OLD_ARTIFACTS} OR a.at IS NULL THEN (
                  SELECT json_agg(r.id) FROM revisions r WHERE r.deployment_id = d.id AND r.artifact = a.artifact AND NOT ${IS_OPEN}) END))
       FROM (SELECT r.artifact, max(r.deployed_at) AS at, bool_or(NOT ${IS_OPEN}) AS ended,
                    row_number() OVER (ORDER BY max(r.deployed_at) DESC NULLS LAST) AS nth
             FROM revisions r WHERE r.deployment_id = d.id AND r.artifact IS NOT NULL GROUP BY r.artifact) a) AS artifacts,
      ${LISTENER_FACTS} AS listener,
      now() AS "begunAt"
    FROM asked JOIN deployments d ON d.id = asked.id
    LEFT JOIN steps t ON t.id = asked.step_id AND t.deployment_id = d.id
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

/** Of one deployment: what there is to know, or why it can't be. */
export type ReadResult = { held: ClaimState } | { error: unknown }

/**
 * Of these deployments, in one statement. Whose secrets can't be opened is told apart: it keeps the others from nothing.
 * `keyring`: null where secrets are not needed. Answers by the deployment's id.
 */
export async function readClaimStates(
  tx: Tx,
  keyring: KeyRing | null,
  asked: readonly StateRequest[],
): Promise<Map<string, ReadResult>> {
  const rows = await tx.query<Row>(READ, [
    asked.map(({ deployment }) => deployment.id),
    asked.map(({ stepId }) => stepId ?? null),
    asked.map(({ artifactLost }) => artifactLost ?? false),
  ])
  const byId = new Map(rows.map((row) => [row.id, row]))
  return new Map(
    asked.map(({ deployment }) => [deployment.id, toClaimState(tx, keyring, deployment, byId.get(deployment.id)!)]),
  )
}

function toClaimState(tx: Tx, keyring: KeyRing | null, deployment: LockedDeployment, row: Row): ReadResult {
  tx.unit.known.set(deployment.id, {
    revisions: (row.revisions ?? []).map((json) => fromJson('revision', json)),
    steps: (row.steps ?? []).map((json) => fromJson('step', json)),
    begun: deployment.deletedAt !== null,
    secretSet: null,
    integration: null,
    shown: false,
    asked: null,
    listener: listenerOf(row.listener),
  })
  try {
    return {
      held: {
        deployment,
        requestedStep: row.asked && fromJson('step', row.asked),
        siblings: row.siblings ?? [],
        withoutMessage: row.speechless ?? [],
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

/** What the transaction knows of a deployment that was read here, as it is after what is recorded. */
export function knownOf(tx: Tx, { id }: LockedDeployment): Facts {
  const known = tx.unit.known.get(id)
  if (!known) throw new Error(`deployment ${id} was not read`)
  return known
}
