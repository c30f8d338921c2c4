/** The verb that creates a deployment with its first revision. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Prisma } from '../../generated/prisma/client.ts'
import { ConflictError, rejectIfAny, type Violation } from '../errors/errors.ts'
import { parse } from '../parsing/parse.ts'
import { insert } from '../repositories/deployment.ts'
import { shareListener } from '../repositories/locks.ts'
import { rollOut, toBuild } from '../rollouts/rollout.ts'
import { secretViolations } from '../secrets/rules.ts'
import { originsAfter, storeSecrets } from '../secrets/secret-set.ts'
import { repositoryViolations } from '../sources/integrations/repositories.ts'
import { unissuedViolations } from '../sources/tarball.ts'
import { actorOf, requireRole } from '../transaction/access.ts'
import { type ReadContext, type RequestContext, type Tx, transaction } from '../transaction/context.ts'
import { type Written, writeVerb } from '../transaction/once.ts'
import type { OnDuplicate } from '../transaction/unit-of-work.ts'
import { buildColumns, revisionColumns } from '../values/revision-source.ts'
import { createBody } from '../values/shapes.ts'
import { AddressNameTaken, addressNameOf } from './address-name.ts'
import {
  accessViolations,
  classViolations,
  contentViolations,
  hasDoor,
  idleViolations,
  listenerViolations,
  offeredViolations,
  referenceViolations,
  refViolations,
  repoUrlViolations,
  requiredViolations,
  reservedHostViolations,
  sourceViolations,
} from './source-rules.ts'

export const createInput = z.object({ body: createBody })

/**
 * Creates a deployment with its first revision, secrets and tracing project. Returns what `read` reads in the transaction,
 * by default the ids. Role: deployer.
 */
export const createDeployment = writeVerb<Written>(async (ctx, raw, read) => {
  requireRole(ctx, 'deployer')
  const { body } = parse(createInput, raw)
  const unreachable = await repositoryViolations(ctx, body)
  // reported alone: the other violations don't matter for a source that is not offered
  rejectIfAny(offeredViolations(body.source, ctx.settings.deploymentModes))
  const run = (isNameTaken: boolean) =>
    transaction(ctx, async (tx) => read(tx, await create(ctx, tx, body, unreachable, isNameTaken)))
  return run(false).catch((error) => {
    if (error instanceof AddressNameTaken) return run(true)
    throw error
  })
})

const ANY_LISTENER = {
  name: 'any listener',
  text: 'SELECT 1 FROM listeners WHERE workspace_id = $1::uuid LIMIT 1',
}

/**
 * `unreachable`: the git provider's objections, asked for before the transaction. `isNameTaken`: another deployment has the
 * name in its address. Throws AddressNameTaken, here or at the flush.
 */
async function create(
  ctx: RequestContext,
  tx: Tx,
  body: z.output<typeof createBody>,
  unreachable: Violation[],
  isNameTaken: boolean,
): Promise<Written> {
  const { source, source_config: config, source_revision_config: revision } = body
  const git = source === 'gitprovider'
  const buildOnPush = git ? (config.build_on_push ?? false) : null
  const listener = config.listener_id == null ? null : await shareListener(tx, ctx.workspace.id, config.listener_id)
  const namespace = config.listener_config?.k8s_namespace ?? null
  const hasListener =
    source === 'external_container' &&
    (listener !== null || (await tx.query(ANY_LISTENER, [ctx.workspace.id])).length > 0)

  const door = hasDoor(listener?.id ?? null, config.custom_url, ctx.settings)
  rejectIfAny([
    ...requiredViolations(source, body),
    ...sourceViolations(source, body),
    ...contentViolations(body),
    ...classViolations(config.resource_spec?.class, listener, ctx.settings),
    ...repoUrlViolations(source, config.repo_url),
    ...unreachable,
    ...unissuedViolations(revision.source_tarball_path),
    ...refViolations(revision.repo_ref ?? null, buildOnPush),
    ...(source === 'external_container' ? listenerViolations(listener, namespace, hasListener) : []),
    ...accessViolations(body.access, door),
    ...reservedHostViolations(config.custom_url, listener?.id ?? null, ctx),
    ...idleViolations(body.idle_minutes, listener?.id ?? null, ctx.settings),
    ...secretViolations(body.secrets, []),
    ...referenceViolations(
      body.secret_references,
      body.secrets.map((secret) => secret.name),
    ),
  ])

  const id = randomUUID()
  const secretSetId = randomUUID()
  const onDuplicate: OnDuplicate = (duplicate) => {
    if (duplicate === 'addressName') return new AddressNameTaken()
    const message = `A deployment named '${body.name}' already exists in this workspace.`
    return duplicate === 'name' ? new ConflictError(message, 'ALREADY_EXISTS') : null
  }
  const deployment = insert(
    tx,
    {
      id,
      workspaceId: ctx.workspace.id,
      name: body.name,
      addressName: door ? addressNameOf(body.name, isNameTaken) : null,
      source,
      integrationId: config.integration_id ?? null,
      repoUrl: config.repo_url ?? null,
      deploymentType: git ? (config.deployment_type ?? 'dev') : null,
      access: body.access ?? (door ? 'workspace' : 'public'),
      accessChosen: true,
      idleMinutes: body.idle_minutes ?? null,
      buildOnPush,
      customUrl: config.custom_url ?? null,
      resourceSpec: (config.resource_spec as Prisma.JsonObject | null | undefined) ?? null,
      listenerId: listener?.id ?? null,
      k8sNamespace: namespace ?? listener?.k8sNamespaces[0] ?? null,
      ...buildColumns(config),
      secretReferences: body.secret_references ?? null,
      secretSetId,
      tracingProjectId: tracingProjectOf(ctx, tx, body.name),
      createdBy: ctx.actor.subject,
    },
    { listener, onDuplicate },
  )
  const actor = actorOf(ctx.actor)
  const origins = originsAfter({ set: null, secrets: [] }, body.secrets, { at: tx.now(), by: actor })
  storeSecrets(tx, ctx.keyring, { id: secretSetId, deploymentId: id, origins }, body.secrets)
  tx.emit({ workspaceId: ctx.workspace.id, type: 'deployment.created', deploymentId: id, actor })
  const first = { ...revisionColumns(revision), sourceTarballPath: null, ...toBuild(deployment) }
  const revisionId = await rollOut(ctx, tx, deployment, first, { trigger: 'create', change: { what: 'CREATED' } })
  return { deploymentId: id, revisionId }
}

/** Finds or creates the tracing project of that name, which may be left from a deleted deployment. Returns the id of a new one. */
function tracingProjectOf(ctx: ReadContext, tx: Tx, name: string): string {
  const id = randomUUID()
  const workspaceId = ctx.workspace.id
  let isMade = false
  const made = () => {
    isMade = true
  }
  tx.unit.project({ id, workspaceId, name, made })
  tx.emit(() =>
    isMade ? { workspaceId, type: 'tracing_project.created', subjectId: id, actor: actorOf(ctx.actor) } : null,
  )
  return id
}
