/** Creates a deployment with its first revision, its secrets and its tracing project, in one transaction. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { Prisma } from '../../generated/prisma/client.ts'
import { requireRole, tenant } from '../access.ts'
import { type RequestContext, type Tx, transaction } from '../context.ts'
import { ConflictError, rejectIfAny, type Violation } from '../errors.ts'
import { reachViolations } from '../integrations/reach.ts'
import { shareListener } from '../listeners/lock.ts'
import { parse, type RawInput } from '../parse.ts'
import { toBuild } from '../revisions/base.ts'
import { rollOut } from '../revisions/rollout.ts'
import { secretViolations } from '../secrets/rules.ts'
import { storeSecrets } from '../secrets/secret-set.ts'
import { unissuedViolations } from '../uploads/accept.ts'
import { adoptTracingProject } from '../workspaces/tracing-project.ts'
import { asWritten, type ReadBack, type Written } from '../written.ts'
import {
  contentViolations,
  listenerViolations,
  offeredViolations,
  referenceViolations,
  refViolations,
  repoUrlViolations,
  requiredViolations,
  sourceViolations,
} from './rules.ts'
import { createBody } from './schemas.ts'

export const createInput = z.object({ body: createBody })

/** Answers what `read` reads in its transaction, by default the two ids. Role: deployer. */
export function createDeployment(ctx: RequestContext, raw: RawInput): Promise<Written>
export function createDeployment<T>(ctx: RequestContext, raw: RawInput, read: ReadBack<Written, T>): Promise<T>
export async function createDeployment(
  ctx: RequestContext,
  raw: RawInput,
  read: ReadBack<Written, unknown> = asWritten,
): Promise<unknown> {
  requireRole(ctx, 'deployer')
  const { body } = parse(createInput, raw)
  const unreachable = await reachViolations(ctx, body)
  // alone: what a source needs is of no use to whoever can't have it
  rejectIfAny(offeredViolations(body.source, ctx.settings.deploymentModes))
  return transaction(ctx, async (tx) => read(tx.sql, await create(ctx, tx, body, unreachable)))
}

/** `unreachable`: what the git provider says against it; it was asked before the transaction. */
async function create(
  ctx: RequestContext,
  tx: Tx,
  body: z.output<typeof createBody>,
  unreachable: Violation[],
): Promise<Written> {
  const { source, source_config: config, source_revision_config: revision } = body
  const git = source === 'gitprovider'
  const buildOnPush = git ? (config.build_on_push ?? false) : null
  const listener = config.listener_id == null ? null : await shareListener(tx, ctx.workspace.id, config.listener_id)
  const namespace = config.listener_config?.k8s_namespace ?? null
  const hasListener = source === 'external_container' && (await tx.sql.listener.count({ where: tenant(ctx) })) > 0

  rejectIfAny([
    ...requiredViolations(source, body),
    ...sourceViolations(source, body),
    ...contentViolations(body),
    ...repoUrlViolations(source, config.repo_url),
    ...unreachable,
    ...unissuedViolations(revision.source_tarball_path),
    ...refViolations(revision.repo_ref ?? null, buildOnPush),
    ...(source === 'external_container' ? listenerViolations(listener, namespace, hasListener) : []),
    ...secretViolations(body.secrets, []),
    ...referenceViolations(
      body.secret_references,
      body.secrets.map((secret) => secret.name),
    ),
  ])

  const id = randomUUID()
  await insert(tx, {
    id,
    workspaceId: ctx.workspace.id,
    name: body.name,
    source,
    integrationId: config.integration_id ?? null,
    repoUrl: config.repo_url ?? null,
    deploymentType: git ? (config.deployment_type ?? 'dev') : null,
    buildOnPush,
    customUrl: config.custom_url ?? null,
    resourceSpec: (config.resource_spec as Prisma.InputJsonObject | null | undefined) ?? Prisma.DbNull,
    listenerId: listener?.id ?? null,
    k8sNamespace: namespace ?? listener?.k8sNamespaces[0] ?? null,
    installCommand: config.install_command ?? null,
    buildCommand: config.build_command ?? null,
    secretReferences: body.secret_references ?? Prisma.DbNull,
    createdBy: ctx.actor.subject,
  })
  const secretSetId = await storeSecrets(tx.sql, ctx.keyring, id, body.secrets)
  const tracingProjectId = await adoptTracingProject(ctx, tx, body.name)
  const deployment = await tx.sql.deployment.update({ where: { id }, data: { secretSetId, tracingProjectId } })
  tx.emit({ workspaceId: ctx.workspace.id, type: 'deployment.created', deploymentId: id, actor: ctx.actor.subject })
  const revisionId = await rollOut(ctx, tx, deployment, {
    repoRef: revision.repo_ref ?? null,
    graphConfigPath: revision.graph_config_path ?? null,
    imageUri: revision.image_uri ?? null,
    sourceTarballPath: null,
    ...toBuild(deployment),
  })
  return { deploymentId: id, revisionId }
}

/** The name is unique among the workspace's live deployments; a partial unique index holds it when two are made at once. */
async function insert(tx: Tx, data: Prisma.DeploymentUncheckedCreateInput): Promise<void> {
  const { count } = await tx.sql.deployment.createMany({ data: [data], skipDuplicates: true })
  if (count === 0)
    throw new ConflictError(`A deployment named '${data.name}' already exists in this workspace.`, 'ALREADY_EXISTS')
}
