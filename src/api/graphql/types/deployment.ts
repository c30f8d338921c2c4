/** The type Deployment and the query for one deployment. deployment-list.ts and deployment-mutations.ts have the rest. */

import { DERIVED_FIELDS } from '../../../domain/deployment-status/derived-fields.ts'
import type { DeploymentHealth as Health } from '../../../domain/deployment-status/serving.ts'
import { URL_DESCRIPTION } from '../../../domain/deployment-status/url.ts'
import { selectDeployment } from '../../../domain/deployments/read.ts'
import { cut } from '../../../domain/paging/paging.ts'
import { countRevisions, parseRevisionFilter, revisionCursor, revisionWindow } from '../../../domain/revisions/read.ts'
import { presentWithOrigins } from '../../../domain/secrets/secret-set.ts'
import {
  effectiveResources,
  effectiveSpec,
  type ResourceSpec as Resources,
} from '../../../domain/values/resource-spec.ts'
import type { Revision as RevisionRow } from '../../../domain/values/row-types.ts'
import type { SecretReference as Reference } from '../../../domain/values/shapes.ts'
import { loadBatched } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import { connectionOf, nodesOf } from '../builder/connection.ts'
import { pageCost } from '../builder/cost.ts'
import { DeploymentSource, DeploymentStatus, Reason, RevisionStatus } from '../builder/enums.ts'
import { VERSION_DESCRIPTION } from '../builder/verb-input.ts'
import { DeploymentChange } from './deployment-change.ts'
import { Event, EventConnection, eventsOf } from './event.ts'
import { Revision } from './revision.ts'
import { Secret } from './secret.ts'
import {
  ResourceSpec,
  ResourceSpecInput,
  rawResources,
  SecretReference,
  SourceConfig,
  SourceRevisionConfig,
} from './source-config.ts'
import { Tag } from './tag.ts'

const DeploymentHealth = builder.objectRef<Health>('DeploymentHealth').implement({
  description: 'The last reported health of the deployment’s replicas.',
  fields: (t) => ({
    ready: t.exposeInt('ready', { description: 'The number of replicas that serve.' }),
    desired: t.exposeInt('desired', { description: 'The number of replicas that should serve.' }),
    message: t.exposeString('message', { nullable: true, description: 'Why some replicas don’t serve.' }),
    reason: t.expose('reason', {
      type: Reason,
      nullable: true,
      description: 'The machine-readable form of `message`.',
    }),
    observedAt: t.expose('observedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When this health was first reported. Null: nothing was reported yet.',
    }),
  }),
})

const resourcesOf = (stored: Resources | null, requested: object | null | undefined) => {
  const effective = requested
    ? effectiveResources({ query: { resource_spec: rawResources(requested) } })
    : effectiveSpec(stored)
  return { ...effective }
}

export const Deployment = builder.prismaObject('Deployment', {
  description: 'An agent server with its source, its revisions and its health.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    tenantId: t.exposeID('workspaceId', { description: 'The workspace of the deployment.' }),
    name: t.exposeString('name'),
    source: t.expose('source', { type: DeploymentSource }),
    sourceConfig: t.field({ type: SourceConfig, resolve: (deployment) => deployment }),
    effectiveResources: t.field({
      type: ResourceSpec,
      nullable: true,
      description:
        'The resources of each replica: the resource spec with defaults filled in. The runtime decides null members; in a cluster the listener’s settings `DEFAULT_…` do. With `resourceSpec` it returns the result of that spec, or an error if the spec is invalid.',
      args: { resourceSpec: t.arg({ type: ResourceSpecInput }) },
      resolve: ({ resourceSpec }, args) => resourcesOf(resourceSpec as Resources | null, args.resourceSpec),
    }),
    sourceRevisionConfig: t.field({
      type: SourceRevisionConfig,
      select: { latestRevision: true },
      resolve: ({ latestRevision }) => latestRevision ?? {},
    }),
    secrets: t.field({
      type: [Secret],
      select: { secretSet: true },
      resolve: ({ secretSet }, _args, ctx) => presentWithOrigins(ctx, secretSet),
    }),
    secretReferences: t.field({
      type: [SecretReference],
      nullable: true,
      resolve: ({ secretReferences }) => secretReferences as Reference[] | null,
    }),
    status: t.field({
      type: DeploymentStatus,
      select: DERIVED_FIELDS.status.select,
      resolve: (deployment, _args, { clock }) => DERIVED_FIELDS.status.derive(deployment, clock()),
    }),
    statusMessage: t.string({
      nullable: true,
      description:
        'Why nothing serves, what the teardown waits for, why the teardown failed, or that the git integration was removed.',
      select: DERIVED_FIELDS.statusMessage.select,
      resolve: (deployment, _args, { clock }) => DERIVED_FIELDS.statusMessage.derive(deployment, clock()),
    }),
    reason: t.field({
      type: Reason,
      nullable: true,
      description: 'The machine-readable form of `statusMessage`.',
      select: DERIVED_FIELDS.reason.select,
      resolve: (deployment, _args, { clock }) => DERIVED_FIELDS.reason.derive(deployment, clock()),
    }),
    reasonSince: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Since when `reason` applies. Null: unknown.',
      select: DERIVED_FIELDS.reasonSince.select,
      resolve: (deployment, _args, { clock }) => DERIVED_FIELDS.reasonSince.derive(deployment, clock()),
    }),
    serving: t.boolean({
      description: 'Whether the deployment serves requests now, as its lease holder reports.',
      select: DERIVED_FIELDS.serving.select,
      resolve: (deployment, _args, { clock }) => DERIVED_FIELDS.serving.derive(deployment, clock()),
    }),
    health: t.field({
      type: DeploymentHealth,
      nullable: true,
      description: 'Null only while the deployment is being deleted.',
      select: DERIVED_FIELDS.health.select,
      resolve: (deployment, _args, { clock }) => DERIVED_FIELDS.health.derive(deployment, clock()),
    }),
    url: t.string({
      nullable: true,
      description: URL_DESCRIPTION,
      select: DERIVED_FIELDS.url.select,
      resolve: (deployment, _args, { clock }) => DERIVED_FIELDS.url.derive(deployment, clock()),
    }),
    whyNotLive: t.string({
      nullable: true,
      description:
        'One sentence that explains why the latest change is not live: nothing serves, or an older revision does. Null: it is live.',
      select: DERIVED_FIELDS.whyNotLive.select,
      resolve: (deployment, _args, { clock }) => DERIVED_FIELDS.whyNotLive.derive(deployment, clock()),
    }),
    lastChange: t.field({
      type: DeploymentChange,
      nullable: true,
      description:
        'The last change that a caller made, at `updatedAt`. Null: an older server, which did not record it, made the last change.',
      select: DERIVED_FIELDS.lastChange.select,
      resolve: (deployment, _args, { clock }) => DERIVED_FIELDS.lastChange.derive(deployment, clock()),
    }),
    imageVersion: t.exposeString('imageVersion', { nullable: true }),
    createdBy: t.exposeString('createdBy', { nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    version: t.exposeInt('editVersion', { description: VERSION_DESCRIPTION }),
    latestRevision: t.relation('latestRevision', { nullable: true }),
    activeRevision: t.relation('activeRevision', {
      nullable: true,
      description: 'The revision that serves, in any status.',
    }),
    revisions: t.connection(
      {
        type: Revision,
        description: 'The revisions of the deployment, newest first.',
        complexity: pageCost,
        args: { status: t.arg({ type: [RevisionStatus], description: 'Only revisions with one of these statuses.' }) },
        select: (args, _ctx, nested) => {
          const window = revisionWindow(args, parseRevisionFilter({ status: args.status }))
          // the cursors are needed even if no node is selected
          return { revisions: nested({ ...window, select: { number: true } }, nodesOf('Revision')) }
        },
        resolve: (deployment, args, ctx) => {
          // contains whole rows if a node is selected
          const slice = cut(args, deployment.revisions as RevisionRow[])
          return connectionOf(slice, args, revisionCursor, async () => {
            const filter = parseRevisionFilter({ status: args.status })
            const count = (ids: readonly string[]) => countRevisions(ctx, ids, filter)
            return (await loadBatched(ctx, `revisions ${JSON.stringify(filter)}`, deployment.id, count)) ?? 0
          })
        },
      },
      { name: 'RevisionConnection' },
      { name: 'RevisionEdge' },
    ),
    listener: t.relation('listener', { nullable: true }),
    tracingProject: t.relation('tracingProject', { nullable: true }),
    tags: t.field({
      type: [Tag],
      select: { tags: { select: { tag: true }, orderBy: [{ tag: { key: 'asc' } }, { tag: { value: 'asc' } }] } },
      resolve: ({ tags }) => tags.map(({ tag }) => tag),
    }),
    events: t.connection(
      {
        type: Event,
        description: 'The events of the deployment and its revisions, oldest first.',
        complexity: pageCost,
        resolve: (deployment, args, ctx) => eventsOf('deploymentId', deployment.id, args, ctx),
      },
      EventConnection,
    ),
  }),
})

/** Each new deployment gets a tracing project of the same name. */
builder.prismaObject('TracingProject', {
  description:
    'The project that receives the traces of a deployment. It has the deployment’s name and can outlive the deployment.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    name: t.exposeString('name'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
})

export const DeploymentConnection = builder.connectionObject(
  { type: Deployment, name: 'DeploymentConnection' },
  { name: 'DeploymentEdge' },
)

builder.queryField('deployment', (t) =>
  t.prismaField({
    type: Deployment,
    nullable: true,
    description: 'One deployment. NOT_FOUND if the id is unknown.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (query, _root, { id }, ctx) => selectDeployment(ctx, { path: { deployment_id: id } }, query),
  }),
)
