/**
 * PATCH of a deployment, and `POST …/revisions` with the same merge. docs/deployments.md#revisions-and-rollouts lists what
 * makes a revision. A restart makes none.
 */
import { z } from 'zod'
import type { Prisma } from '../../generated/prisma/client.ts'
import { ConflictError, type IfMatch, rejectIfAny, requireVersion, type Violation } from '../errors/errors.ts'
import { changedFields, parse } from '../parsing/parse.ts'
import { type Edit, edit, notifyHolder, restarted, restartTime } from '../repositories/deployment.ts'
import { lockedAggregate } from '../repositories/locked-aggregate.ts'
import { type LockedDeployment, lockDeployment, refuseDeleted } from '../repositories/locks.ts'
import { recordRuntimeConfig } from '../revisions/runtime-config.ts'
import { baseOf, rollOut, sourceAfter } from '../rollouts/rollout.ts'
import { unmask } from '../secrets/rules.ts'
import { inspectTarball, markTarballUsed, type Tarball, tarballViolations } from '../sources/tarball.ts'
import { actorOf, eventBy, requireRole } from '../transaction/access.ts'
import type { ReadContext, RequestContext, Tx } from '../transaction/context.ts'
import { type ReadBack, type Written, writeVerb } from '../transaction/once.ts'
import { effectiveSpec, type ResourceSpec } from '../values/resource-spec.ts'
import { buildColumns, revisionColumns, saysRevision, type Trigger } from '../values/revision-source.ts'
import { deploymentPath, type UpdateBody, updateBody } from '../values/shapes.ts'
import { patchViolations } from './patch-rules.ts'
import { replaceSecrets } from './secrets.ts'
import {
  accessViolations,
  classViolations,
  idleViolations,
  isBehindDoor,
  isInCluster,
  pastDoorViolations,
  reservedHostViolations,
} from './source-rules.ts'

export const updateInput = z.object({ path: deploymentPath, body: updateBody })

/**
 * A PATCH without an effect writes nothing. Returns what `read` reads in the transaction, by default the ids; the revision
 * may be null. Role: deployer.
 */
export const updateDeployment = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(updateInput, raw)
  return change(ctx, path.deployment_id, { body, revise: triggerOf(body), ifMatch: raw.ifMatch }, read)
})

/** Always makes a revision. Returns the same as `updateDeployment`. Role: deployer. */
export const createRevision = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(updateInput, raw)
  return change(ctx, path.deployment_id, { body, revise: triggerOf(body) ?? 'request', ifMatch: raw.ifMatch }, read)
})

interface Change {
  body: UpdateBody
  /** the trigger of the new revision; null: makes none */
  revise: Trigger | null
  ifMatch: IfMatch
}

async function change<T>(
  ctx: RequestContext,
  deploymentId: string,
  { body, revise, ifMatch }: Change,
  read: ReadBack<Written, T>,
): Promise<T> {
  const tarball = await inspectTarball(ctx, deploymentId, body.source_revision_config?.source_tarball_path)
  const work = async (tx: Tx, deployment: LockedDeployment) => {
    requireVersion(ifMatch, 'Deployment', deploymentId, deployment)
    const revisionId = await merge(ctx, tx, deployment, body, tarball, revise)
    return read(tx, { deploymentId, revisionId })
  }
  return lockDeployment(ctx, deploymentId, work, AGGREGATE_PARTS)
}

const AGGREGATE_PARTS = { withSecretsAndIntegration: true }

/** A non-null member of these makes a revision, even if its value is the stored one. */
function triggerOf(body: UpdateBody): Trigger | null {
  if (saysRevision(body)) return 'update'
  return body.secrets == null ? null : 'secrets'
}

/** Returns the id of the new revision, or null. */
async function merge(
  ctx: RequestContext,
  tx: Tx,
  deployment: LockedDeployment,
  body: UpdateBody,
  tarball: Tarball | null,
  revise: Trigger | null,
): Promise<string | null> {
  const { revisions, secretSet: set } = await lockedAggregate(tx, deployment, AGGREGATE_PARTS)
  const base = baseOf(deployment, revisions, body)
  const config = body.source_config
  const stored = { deployment, base, secrets: set?.names ?? [] }
  const newUrl = config?.custom_url === deployment.customUrl ? null : config?.custom_url
  rejectIfAny([
    ...patchViolations(stored, body, await tarballViolations(tx, tarball)),
    ...accessViolations(body.access, isBehindDoor(deployment, ctx.settings)),
    ...reservedHostViolations(newUrl, deployment.listenerId, ctx),
    ...pastDoorViolations(newUrl, deployment, ctx.settings),
    ...idleViolations(body.idle_minutes, deployment.listenerId, ctx.settings),
    ...(await unknownClassViolations(ctx, tx, deployment, config?.resource_spec?.class)),
  ])
  refuseDeleted(deployment)
  await markTarballUsed(tx, tarball)

  const changes: Edit = {
    ...(body.access == null ? {} : { access: body.access, accessChosen: true }),
    ...(body.idle_minutes == null ? {} : { idleMinutes: body.idle_minutes || null }),
    ...(config?.build_on_push == null ? {} : { buildOnPush: config.build_on_push }),
    ...(config?.custom_url == null ? {} : { customUrl: config.custom_url }),
    ...(config?.resource_spec == null ? {} : { resourceSpec: config.resource_spec as Prisma.JsonObject }),
    ...buildColumns(config, deployment),
    ...(body.secret_references == null ? {} : { secretReferences: body.secret_references }),
  }
  const { secrets: sent } = body
  const secrets =
    sent == null ? null : replaceSecrets(ctx, tx, deployment.id, set, (stored) => ({ secrets: unmask(sent, stored) }))
  const source = revisionColumns(body.source_revision_config, base)
  const columns = changedFields(deployment, changes).map((name) => (name === 'access_chosen' ? 'access' : name))
  const changed = [...changedFields(base, source), ...new Set(columns), ...(secrets?.changed ?? [])]
  if (!revise && changed.length === 0) return null
  const actor = actorOf(ctx.actor)
  const change = { what: 'UPDATED', changed } as const
  const restarts = !revise && needsRestart(ctx, deployment, config?.resource_spec)
  const edited = edit(
    tx,
    deployment,
    { ...change, actor },
    {
      ...changes,
      ...(secrets && { secretSetId: secrets.secretSetId }),
      ...(restarts && { restartedAt: restartTime(tx, deployment) }),
    },
  )
  const messages = [
    ...(changed.includes('access') ? [accessMessage(deployment.access, body.access!)] : []),
    ...(restarts ? ['The agent restarts with its new limits.'] : []),
  ]
  const message = messages.join(' ') || null
  tx.emit({ ...eventBy(ctx), type: 'deployment.updated', changed, message, deploymentId: deployment.id })
  // these changes make no revision; the holder applies them to the running one
  const holderConcerned = [config?.custom_url, config?.resource_spec, body.secret_references, body.idle_minutes].some(
    (value) => value != null,
  )
  const next = holderConcerned ? notifyHolder(tx, edited) : edited
  if (config?.resource_spec != null || body.secret_references != null) recordRuntimeConfig(tx, next, revisions)
  return revise ? rollOut(ctx, tx, next, sourceAfter(base, next, body), { trigger: revise, change }) : null
}

/** The process runtime sets the limits of an agent when it starts. A cluster replaces the pods by itself. */
function needsRestart(
  { settings }: Pick<ReadContext, 'settings'>,
  { listenerId, activeRevisionId, resourceSpec }: LockedDeployment,
  spec: ResourceSpec | null | undefined,
): boolean {
  if (!spec || activeRevisionId === null || isInCluster(listenerId, settings)) return false
  const before = effectiveSpec(resourceSpec as ResourceSpec | null)
  const after = effectiveSpec(spec)
  return before.memory_limit_mb !== after.memory_limit_mb || before.cpu_limit !== after.cpu_limit
}

const accessMessage = (before: string, after: string): string =>
  before === after ? `Access stays ${after}.` : `Access changed from ${before} to ${after}.`

/** Reads the listener only if a class is given. */
async function unknownClassViolations(
  ctx: ReadContext,
  tx: Tx,
  { listenerId }: LockedDeployment,
  name: string | null | undefined,
): Promise<Violation[]> {
  if (name == null) return []
  const listener = listenerId && (await tx.sql.listener.findUniqueOrThrow({ where: { id: listenerId } }))
  return classViolations(name, listener || null, ctx.settings)
}

/** Restarts the running revision without a rollout: revision, build and status stay (docs/deployments.md#restart). */
export const restartInput = z.object({ path: deploymentPath })

/** Returns what `read` reads in the transaction, by default the ids. Role: deployer. Throws ConflictError if nothing runs. */
export const restartDeployment = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { deployment_id: deploymentId } = parse(restartInput, raw).path
  const work = async (tx: Tx, deployment: LockedDeployment) => {
    requireVersion(raw.ifMatch, 'Deployment', deploymentId, deployment)
    refuseDeleted(deployment)
    const { activeRevisionId: revisionId } = deployment
    if (revisionId === null)
      throw new ConflictError(`Deployment ID ${deploymentId} has no running revision, so nothing can be restarted.`)
    notifyHolder(tx, restarted(tx, deployment, actorOf(ctx.actor)))
    tx.emit({ ...eventBy(ctx), type: 'deployment.restarted', deploymentId, revisionId })
    return read(tx, { deploymentId, revisionId: null })
  }
  return lockDeployment(ctx, deploymentId, work, { withSecretsAndIntegration: true })
})
