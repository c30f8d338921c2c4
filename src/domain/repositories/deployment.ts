/**
 * The only writer of the table `deployments`. Each function takes the locked row and returns the next one.
 * Only changes by callers raise `editVersion` and set `updatedAt` and `lastChange`.
 */
import { type Deployment, Prisma } from '../../generated/prisma/client.ts'
import type { RevisionStatus, StepKind } from '../../generated/prisma/enums.ts'
import type { ReadCore, Statement, Tx } from '../transaction/context.ts'
import type { LockedListener, OnDuplicate } from '../transaction/unit-of-work.ts'
import type { StoredRestarts } from '../values/agent-restart.ts'
import { customHostOf } from '../values/custom-host.ts'
import { type Change, storedChange } from '../values/deployment-change.ts'
import type { EventActor } from '../values/event-types.ts'
import type { Explanation } from '../values/explanation.ts'
import { isTerminal } from '../values/lifecycle.ts'
import { effectiveSpec, type ResourceSpec } from '../values/resource-spec.ts'
import type { BuildColumns } from '../values/revision-source.ts'
import { type HeldClaim, isHeldUnder, LEASE_HOLDS, ofScope, type Scope, stepIsDue } from './lease.ts'
import { type LockedDeployment, toChangeOrSkip } from './locks.ts'

export const NOTHING_WAITS = { reason: null, reasonSince: null, statusMessage: null } as const

/** Ends the lease. The fencing token stays, because it only grows. */
const NO_LEASE = { claimId: null, leaseHolder: null, leaseExpiresAt: null, busyStepId: null } as const

/** Only this function raises `editVersion`, so each change by a caller has a description. The last one is kept. */
function changed(tx: Tx, { editVersion }: LockedDeployment, change: Change) {
  const now = tx.now()
  return { editVersion: editVersion + 1, updatedAt: now, lastChange: storedChange(change, now) as Prisma.JsonObject }
}

type Columns = Partial<Deployment>

function write(tx: Tx, deployment: LockedDeployment, changes: Columns): LockedDeployment {
  tx.unit.update('deployment', deployment.id, changes)
  return { ...deployment, ...changes }
}

type NewDeployment = Pick<
  Deployment,
  | 'id'
  | 'workspaceId'
  | 'name'
  | 'addressName'
  | 'source'
  | 'integrationId'
  | 'repoUrl'
  | 'deploymentType'
  | 'listenerId'
  | 'k8sNamespace'
  | 'createdBy'
  | 'tracingProjectId'
  | keyof Edit
>

export function insert(
  tx: Tx,
  made: NewDeployment,
  options: { listener: LockedListener | null; onDuplicate: OnDuplicate },
): LockedDeployment {
  const now = tx.now()
  const row: Deployment = {
    ...made,
    customHost: made.source === 'external_container' ? customHostOf(made.customUrl) : null,
    ...NOTHING_WAITS,
    ...NO_LEASE,
    // the first rollout raises it to 1
    editVersion: 0,
    lastChange: null,
    createdAt: now,
    updatedAt: now,
    deletedAt: null,
    tornDownAt: null,
    provisionedAt: null,
    idle: false,
    repositoryId: null,
    url: null,
    imageVersion: null,
    health: null,
    restarts: null,
    latestRevisionId: null,
    latestOutcome: null,
    attention: 0,
    leaseDueAt: null,
    activeRevisionId: null,
    restartedAt: null,
    revisionCount: 0,
    rollout: 0,
    generation: 0,
    leaseToken: 0n,
  }
  tx.unit.make(row, options)
  return row as LockedDeployment
}

export type Edit = Partial<
  Pick<
    Deployment,
    | 'access'
    | 'accessChosen'
    | 'idleMinutes'
    | 'buildOnPush'
    | 'customUrl'
    | 'resourceSpec'
    | keyof BuildColumns
    | 'secretReferences'
    | 'secretSetId'
  >
>

/** No fields: data in another table changed. */
export function edit(
  tx: Tx,
  deployment: LockedDeployment,
  change: Change,
  fields: Edit & { restartedAt?: Date } = {},
): LockedDeployment {
  return write(tx, deployment, { ...fields, ...hostAfter(deployment, fields), ...changed(tx, deployment, change) })
}

/** A caller that sends the stored URL back claims no host: another deployment may have had it first. */
function hostAfter({ source, customUrl: before }: LockedDeployment, { customUrl }: Edit): Columns {
  const isNew = source === 'external_container' && customUrl !== undefined && customUrl !== before
  return isNew ? { customHost: customHostOf(customUrl) } : {}
}

/** Begins the next rollout. `made`: the id of the new revision; null: an existing revision is rolled out. */
export function nextRollout(
  tx: Tx,
  deployment: LockedDeployment,
  change: Change,
  made: string | null,
): LockedDeployment {
  const next = { rollout: deployment.rollout + 1, ...changed(tx, deployment, change) }
  return write(
    tx,
    deployment,
    made === null
      ? next
      : { ...next, revisionCount: deployment.revisionCount + 1, latestRevisionId: made, latestOutcome: null },
  )
}

/** Requests a restart of the active revision. Each request has another time, because the holder applies each time once. */
export function restarted(tx: Tx, deployment: LockedDeployment, actor: EventActor): LockedDeployment {
  const restartedAt = restartTime(tx, deployment)
  return write(tx, deployment, { restartedAt, ...changed(tx, deployment, { what: 'RESTARTED', actor }) })
}

/** Later than that of the last restart. */
export function restartTime(tx: Tx, { restartedAt }: LockedDeployment): Date {
  return new Date(Math.max(tx.now().getTime(), (restartedAt?.getTime() ?? 0) + 1))
}

/** Records restarts of its agents, which no caller requested. */
export function agentsRestarted(tx: Tx, deployment: LockedDeployment, restarts: StoredRestarts): LockedDeployment {
  return write(tx, deployment, { restarts: restarts as unknown as Prisma.JsonObject })
}

/** Records that its queue completes no runs. A restart that was reported as done stays done. */
export function queueStalled(tx: Tx, deployment: LockedDeployment, reported: object): LockedDeployment {
  const { restartedAt } = (deployment.health ?? {}) as { restartedAt?: string }
  const health = { ...(restartedAt && { restartedAt }), ...reported, observedAt: tx.now().toISOString() }
  return write(tx, deployment, { health: health as unknown as Prisma.JsonObject })
}

/** The lease holder has a new assignment: raises the generation and wakes waiting workers. */
export function notifyHolder(tx: Tx, deployment: LockedDeployment): LockedDeployment {
  tx.wakeWorkers(deployment.listenerId)
  return write(tx, deployment, { generation: deployment.generation + 1 })
}

/** If the response got lost, the next heartbeat names an older generation and gets the step again. */
export function busyWith(tx: Tx, deployment: LockedDeployment, stepId: string): LockedDeployment {
  return write(tx, deployment, { busyStepId: stepId, generation: deployment.generation + 1 })
}

export function noLongerBusy(tx: Tx, deployment: LockedDeployment): LockedDeployment {
  return deployment.busyStepId === null ? deployment : write(tx, deployment, { busyStepId: null })
}

export function provisioned(tx: Tx, deployment: LockedDeployment): LockedDeployment {
  return write(tx, deployment, { provisionedAt: tx.now() })
}

/**
 * A deploy starts new processes, so no restart is pending. The deployment counts as ready, so the answer that says
 * DEPLOYED does not say that nothing serves.
 */
export function deployed(
  tx: Tx,
  deployment: LockedDeployment,
  activeRevisionId: string,
  { url, imageVersion }: { url?: string | undefined; imageVersion?: string | undefined },
): LockedDeployment {
  const { source, health, resourceSpec } = deployment
  const ready = Math.max(1, effectiveSpec(resourceSpec as ResourceSpec | null).min_scale)
  const isReady = { ready, desired: ready, message: null, reason: null, observedAt: tx.now().toISOString() }
  return write(tx, deployment, {
    activeRevisionId,
    ...(deployment.restartedAt && { restartedAt: null }),
    idle: false,
    // external_container: the user owns custom_url
    ...(url ? { url, ...(source === 'external_container' ? {} : { customUrl: url }) } : {}),
    ...(imageVersion ? { imageVersion } : {}),
    ...((health as { ready: number } | null)?.ready ? {} : { health: isReady }),
  })
}

/** Records the final status of the latest revision. A trigger does the same for other writes. */
export function moved(
  tx: Tx,
  deployment: LockedDeployment,
  revisionId: string,
  status: RevisionStatus,
): LockedDeployment {
  const latestOutcome = isTerminal(status) ? status : null
  const isNoted = revisionId !== deployment.latestRevisionId || latestOutcome === deployment.latestOutcome
  return isNoted ? deployment : write(tx, deployment, { latestOutcome })
}

/** Records a DELETE: the name can be used again, and nothing of the deployment should run. */
export function deleted(tx: Tx, deployment: LockedDeployment, actor: EventActor): LockedDeployment {
  const change = changed(tx, deployment, { what: 'DELETED', actor })
  return write(tx, deployment, { ...change, deletedAt: tx.now(), activeRevisionId: null })
}

/** Null: the teardown does not wait. Writes only changes, and keeps `reason_since` while the reason stays. */
export function explainTeardown(
  tx: Tx,
  deployment: LockedDeployment,
  explanation: Explanation | null,
): LockedDeployment {
  const { reason, message: statusMessage } = explanation ?? { reason: null, message: null }
  if (reason === deployment.reason && statusMessage === deployment.statusMessage) return deployment
  const since = reason === deployment.reason ? {} : { reasonSince: reason && tx.now() }
  return write(tx, deployment, { reason, statusMessage, ...since })
}

export function teardownFailed(tx: Tx, deployment: LockedDeployment, explanation: Explanation): LockedDeployment {
  return write(tx, deployment, {
    reason: explanation.reason,
    reasonSince: tx.now(),
    statusMessage: explanation.message,
  })
}

/** Records that its runtime objects are gone, or that no worker manages them. This ends the lease. */
export function tornDown(tx: Tx, deployment: LockedDeployment): LockedDeployment {
  tx.wakeWorkers(deployment.listenerId)
  return write(tx, deployment, { tornDownAt: tx.now(), ...NOTHING_WAITS, ...NO_LEASE })
}

export function leased(
  tx: Tx,
  deployment: LockedDeployment,
  { claimId, holder, until }: { claimId: string; holder: string; until: Date },
): LockedDeployment {
  const leaseToken = deployment.leaseToken + 1n
  return write(tx, deployment, { claimId, leaseHolder: holder, leaseToken, leaseExpiresAt: until, busyStepId: null })
}

export function released(tx: Tx, deployment: LockedDeployment): LockedDeployment {
  tx.wakeWorkers(deployment.listenerId)
  return write(tx, deployment, NO_LEASE)
}

const SET_NAME: Statement = {
  name: 'set_address_name',
  text: 'UPDATE deployments SET address_name = $2 WHERE id = $1::uuid AND address_name IS NULL',
}

/** Names a deployment from before names. Rejects with SQLSTATE 23505 when another deployment has the name. */
export async function setAddressName(tx: Tx, { id }: LockedDeployment, name: string): Promise<void> {
  await tx.query(SET_NAME, [id, name])
}

/** Returns the number of released leases. */
export function releasedAll(tx: Tx, scope: Scope, holder: string): Promise<number> {
  return tx.sql.$executeRaw`
    UPDATE deployments d SET claim_id = NULL, lease_holder = NULL, lease_expires_at = NULL, busy_step_id = NULL
    WHERE lease_holder = ${holder} AND ${ofScope(scope)}`
}

/** Detaches torn-down deployments from a deleted listener. Their rows stay for a while. */
export async function forgetListener(tx: Tx, listenerId: string): Promise<void> {
  await tx.sql.$executeRaw`UPDATE deployments SET listener_id = NULL WHERE listener_id = ${listenerId}::uuid`
}

/** Does not lock the row first, because it depends on no other column. */
export async function recordRepositoryId(core: ReadCore, id: string, repositoryId: number): Promise<void> {
  await core.db.$executeRaw`
    UPDATE deployments SET repository_id = ${repositoryId}::bigint
    WHERE id = ${id}::uuid AND repository_id IS DISTINCT FROM ${repositoryId}::bigint`
}

/** Deletes the row unless it still has log lines. */
export async function removePurged(core: ReadCore, id: string): Promise<void> {
  await core.db.$executeRaw`
    DELETE FROM deployments WHERE id = ${id}::uuid
      AND NOT EXISTS (SELECT 1 FROM log_lines WHERE deployment_id = ${id}::uuid)`
}

export const leaseEnd = (seconds: number) => Prisma.sql`now() + make_interval(secs => ${seconds}::float8)`

/**
 * A part of a WITH clause, `free`: at most `max` locked deployments that need a lease holder and have none.
 * Deployments with the fewest leases come first, then the oldest, so frequent leases of one do not delay others.
 * `refused`: kinds of steps that may not begin now.
 */
export const freeToLease = (scope: Scope, max: number, refused: readonly StepKind[]) => Prisma.sql`
  free AS MATERIALIZED (
    SELECT d.* FROM deployments d
    WHERE d.torn_down_at IS NULL AND ${ofScope(scope)} AND (d.lease_due_at IS NULL OR d.lease_due_at < now())
      AND (d.lease_expires_at IS NULL OR d.lease_expires_at < now()) AND NOT coalesce(${LEASE_HOLDS}, false) AND (d.active_revision_id IS NOT NULL OR ${stepIsDue(refused)})
    ORDER BY d.lease_token, d.created_at, d.id LIMIT ${max} ${toChangeOrSkip('d')}
  )`

/** A restart that a holder has reported as done stays done, also if a later holder does not know yet. */
const REPORTED_HEALTH = Prisma.sql`(jsonb_strip_nulls(jsonb_build_object('restartedAt', d.health->'restartedAt')) || a.health)`

/** The UPDATE that renews the leases of `free`, without RETURNING. */
export const renewHeld = (seconds: number) => Prisma.sql`
  UPDATE deployments d
  SET lease_expires_at = ${leaseEnd(seconds)},
      idle = coalesce(a.idle, d.idle),
      health = CASE WHEN a.health IS NULL OR a.health = 'null'::jsonb THEN d.health
                    WHEN d.health - 'observedAt' = ${REPORTED_HEALTH} THEN d.health
                    WHEN d.health - 'observedAt' - 'draining' = ${REPORTED_HEALTH} - 'draining' THEN ${REPORTED_HEALTH} || jsonb_build_object('observedAt', d.health->'observedAt')
                    ELSE ${REPORTED_HEALTH} || jsonb_build_object('observedAt', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) END
  FROM requested a, free WHERE d.id = free.id AND a."claimId" = free.claim_id`

/** The UPDATE that stores reported URLs of deployed revisions, for the claims of the CTE `requested` that `held` selects. */
export const setUrls = (held: Prisma.Sql) => Prisma.sql`
  UPDATE deployments d SET url = a.url, custom_url = CASE WHEN d.source = 'external_container' THEN d.custom_url ELSE a.url END
  FROM requested a WHERE ${held} AND d.url <> a.url`

/** The UPDATE without RETURNING that raises the fencing token of a held claim above `seen`. */
export const raiseHeld = (scope: Scope, claim: HeldClaim, seen: string) => Prisma.sql`
  UPDATE deployments d SET lease_token = greatest(d.lease_token, ${seen}::bigint + 1) WHERE ${isHeldUnder(scope, claim)}`
