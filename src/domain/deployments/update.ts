/**
 * PATCH of a deployment: merges what was said, and makes a revision exactly on the triggers of spec 3. The same
 * merge makes the explicit new revision of `POST …/revisions`.
 */
import { z } from 'zod'
import type { Deployment, Prisma, Revision, SecretSet } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import { changesAnything } from '../changes.ts'
import { type RequestContext, type Tx, transaction } from '../context.ts'
import { rejectIfAny, type Violation } from '../errors.ts'
import { parse, type RawInput } from '../parse.ts'
import { baseOf, sourceAfter } from '../revisions/base.ts'
import { rollOut } from '../revisions/rollout.ts'
import { secretViolations, unmask } from '../secrets/rules.ts'
import { openSecrets, storeSecrets } from '../secrets/secret-set.ts'
import { inspectTarball, type Tarball, tarballViolations, useTarball } from '../uploads/accept.ts'
import { touch } from '../work/steps.ts'
import { asWritten, type ReadBack, type Written } from '../written.ts'
import { immutableFields, immutableViolations } from './immutable.ts'
import { lockDeployment, refuseDeleted } from './lock.ts'
import { contentViolations, referenceViolations, refViolations, sourceViolations } from './rules.ts'
import { deploymentPath, type SecretReference, type UpdateBody, updateBody } from './schemas.ts'

export const updateInput = z.object({ path: deploymentPath, body: updateBody })

/**
 * PATCH. What changes nothing leaves no trace. Answers what `read` reads in its transaction, by default the ids; the
 * revision is null if it made none. Role: deployer.
 */
export function updateDeployment(ctx: RequestContext, raw: RawInput): Promise<Written>
export function updateDeployment<T>(ctx: RequestContext, raw: RawInput, read: ReadBack<Written, T>): Promise<T>
export async function updateDeployment(
  ctx: RequestContext,
  raw: RawInput,
  read: ReadBack<Written, unknown> = asWritten,
): Promise<unknown> {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(updateInput, raw)
  return change(ctx, path.deployment_id, body, triggersRevision(body), read)
}

/** A new revision, whatever the body says. Answers like `updateDeployment`. Role: deployer. */
export function createRevision(ctx: RequestContext, raw: RawInput): Promise<Written>
export function createRevision<T>(ctx: RequestContext, raw: RawInput, read: ReadBack<Written, T>): Promise<T>
export async function createRevision(
  ctx: RequestContext,
  raw: RawInput,
  read: ReadBack<Written, unknown> = asWritten,
): Promise<unknown> {
  requireRole(ctx, 'deployer')
  const { path, body } = parse(updateInput, raw)
  return change(ctx, path.deployment_id, body, true, read)
}

async function change<T>(
  ctx: RequestContext,
  deploymentId: string,
  body: UpdateBody,
  revise: boolean,
  read: ReadBack<Written, T>,
): Promise<T> {
  const tarball = await inspectTarball(ctx, deploymentId, body.source_revision_config?.source_tarball_path)
  return transaction(
    ctx,
    async (tx) => {
      const deployment = await lockDeployment(tx, ctx, deploymentId)
      const revisionId = await merge(ctx, tx, deployment, body, tarball, revise)
      return read(tx.sql, { deploymentId, revisionId })
    },
    { deployment: deploymentId },
  )
}

/** The triggers of spec 3: a non-null member of these makes a revision, even if its value is the stored one. */
function triggersRevision(body: UpdateBody): boolean {
  const revision = body.source_revision_config
  return [
    revision?.repo_ref,
    revision?.graph_config_path,
    revision?.image_uri,
    revision?.source_tarball_path,
    body.secrets,
  ].some((value) => value != null)
}

/** Returns the id of the revision that it made, or null. */
async function merge(
  ctx: RequestContext,
  tx: Tx,
  deployment: Deployment,
  body: UpdateBody,
  tarball: Tarball | null,
  revise: boolean,
): Promise<string | null> {
  const base = await baseOf(tx, deployment, body)
  const set = await tx.sql.secretSet.findUnique({ where: { id: deployment.secretSetId ?? '' } })
  const config = body.source_config
  rejectIfAny([
    ...immutableViolations(deployment, body),
    ...sourceViolations(deployment.source, body, immutableFields(deployment)),
    ...contentViolations(body),
    ...(await tarballViolations(tx, tarball)),
    ...followingViolations(deployment, base, body),
    ...secretViolations(body.secrets ?? [], set?.names ?? []),
    ...referenceViolations(
      referencesAfter(deployment, body),
      body.secrets?.map((secret) => secret.name) ?? set?.names ?? [],
    ),
  ])
  refuseDeleted(deployment)
  await useTarball(tx, tarball)

  const changes: Prisma.DeploymentUncheckedUpdateInput = {
    ...(config?.build_on_push == null ? {} : { buildOnPush: config.build_on_push }),
    ...(config?.custom_url == null ? {} : { customUrl: config.custom_url }),
    ...(config?.resource_spec == null ? {} : { resourceSpec: config.resource_spec as Prisma.InputJsonObject }),
    ...(config?.install_command == null ? {} : { installCommand: config.install_command }),
    ...(config?.build_command == null ? {} : { buildCommand: config.build_command }),
    ...(body.secret_references == null ? {} : { secretReferences: body.secret_references }),
    ...(body.secrets == null ? {} : { secretSetId: await replaceSecrets(ctx, tx, deployment, body.secrets, set) }),
  }
  if (!revise && !changesAnything(deployment, changes)) return null
  const data = { ...changes, updatedAt: tx.now() }
  Object.assign(deployment, await tx.sql.deployment.update({ where: { id: deployment.id }, data }))
  tx.emit({
    workspaceId: deployment.workspaceId,
    type: 'deployment.updated',
    deploymentId: deployment.id,
    actor: ctx.actor.subject,
  })
  // what makes no revision is carried out on the running one: its holder hears of it
  if (config?.custom_url != null || config?.resource_spec != null || body.secret_references != null)
    await touch(tx, deployment)
  return revise ? rollOut(ctx, tx, deployment, sourceAfter(base, deployment, body)) : null
}

/**
 * Judged only where one of the two is said: who changes secrets after a rollback to a tag has not chosen that ref, and
 * as long as it is the latest, no push concerns the deployment.
 */
function followingViolations(deployment: Deployment, base: Revision, body: UpdateBody): Violation[] {
  const repoRef = body.source_revision_config?.repo_ref
  const buildOnPush = body.source_config?.build_on_push
  if (repoRef == null && buildOnPush == null) return []
  return refViolations(repoRef ?? base.repoRef, buildOnPush ?? deployment.buildOnPush)
}

function referencesAfter(deployment: Deployment, body: UpdateBody): SecretReference[] | null {
  return body.secret_references ?? (deployment.secretReferences as unknown as SecretReference[] | null)
}

async function replaceSecrets(
  ctx: RequestContext,
  tx: Tx,
  deployment: Deployment,
  secrets: NonNullable<UpdateBody['secrets']>,
  set: SecretSet | null,
): Promise<string> {
  return storeSecrets(tx.sql, ctx.keyring, deployment.id, unmask(secrets, openSecrets(ctx.keyring, set)))
}
