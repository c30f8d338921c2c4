/** Deployments: the type with everything around it, and the look-up of one. The list and the writes are next door. */

import { DERIVED } from '../../../domain/deployment-status/derived.ts'
import type { DeploymentHealth as Health } from '../../../domain/deployment-status/serving.ts'
import { URL_DESCRIPTION } from '../../../domain/deployment-status/url.ts'
import { effectiveResources } from '../../../domain/deployments/effective-resources.ts'
import { selectDeployment } from '../../../domain/deployments/read.ts'
import { cut } from '../../../domain/paging/paging.ts'
import { countRevisions, parseRevisionFilter, revisionCursor, revisionWindow } from '../../../domain/revisions/read.ts'
import { presentWithOrigins } from '../../../domain/secrets/secret-set.ts'
import { effectiveSpec, type ResourceSpec as Resources } from '../../../domain/values/resource-spec.ts'
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
  description: 'What serves the deployment, as it was last reported.',
  fields: (t) => ({
    ready: t.exposeInt('ready', { description: 'Replicas that serve.' }),
    desired: t.exposeInt('desired', { description: 'Replicas that should.' }),
    message: t.exposeString('message', { nullable: true, description: 'Why not all of them serve.' }),
    reason: t.expose('reason', { type: Reason, nullable: true, description: 'The same for machines.' }),
    observedAt: t.expose('observedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when that was reported; null: nothing was yet.',
    }),
  }),
})

const resourcesOf = (stored: Resources | null, asked: object | null | undefined) => {
  const effective = asked
    ? effectiveResources({ query: { resource_spec: rawResources(asked) } })
    : effectiveSpec(stored)
  return { ...effective }
}

export const Deployment = builder.prismaObject('Deployment', {
  description: 'An agent server: what it is made from, its revisions, and what serves it.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    tenantId: t.exposeID('workspaceId', { description: 'The workspace that it belongs to.' }),
    name: t.exposeString('name'),
    source: t.expose('source', { type: DeploymentSource }),
    sourceConfig: t.field({ type: SourceConfig, resolve: (deployment) => deployment }),
    effectiveResources: t.field({
      type: ResourceSpec,
      nullable: true,
      description:
        'What each replica gets: the resource spec with the defaults of what it does not say. Null in it: for who runs it to decide, in a cluster by the settings `DEFAULT_…` of the listener. With `resourceSpec` what it would get with that, or what speaks against it.',
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
      select: DERIVED.status.select,
      resolve: (deployment, _args, { clock }) => DERIVED.status.of(deployment, clock()),
    }),
    statusMessage: t.string({
      nullable: true,
      description:
        'Why nothing serves, what its teardown waits for or why that failed, or that its git integration is gone.',
      select: DERIVED.statusMessage.select,
      resolve: (deployment, _args, { clock }) => DERIVED.statusMessage.of(deployment, clock()),
    }),
    reason: t.field({
      type: Reason,
      nullable: true,
      description: 'What `statusMessage` says, for machines.',
      select: DERIVED.reason.select,
      resolve: (deployment, _args, { clock }) => DERIVED.reason.of(deployment, clock()),
    }),
    reasonSince: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Since when that is so; null where nobody knows.',
      select: DERIVED.reasonSince.select,
      resolve: (deployment, _args, { clock }) => DERIVED.reasonSince.of(deployment, clock()),
    }),
    serving: t.boolean({
      description: 'Whether something answers for it now, by what its holder says at this moment.',
      select: DERIVED.serving.select,
      resolve: (deployment, _args, { clock }) => DERIVED.serving.of(deployment, clock()),
    }),
    health: t.field({
      type: DeploymentHealth,
      nullable: true,
      description: 'Null only for one that is being deleted.',
      select: DERIVED.health.select,
      resolve: (deployment, _args, { clock }) => DERIVED.health.of(deployment, clock()),
    }),
    url: t.string({
      nullable: true,
      description: URL_DESCRIPTION,
      select: DERIVED.url.select,
      resolve: (deployment, _args, { clock }) => DERIVED.url.of(deployment, clock()),
    }),
    whyNotLive: t.string({
      nullable: true,
      description:
        'Why what was asked for last is not live, in one sentence: what nothing serves for, or why an older revision does. Null: it is live.',
      select: DERIVED.whyNotLive.select,
      resolve: (deployment, _args, { clock }) => DERIVED.whyNotLive.of(deployment, clock()),
    }),
    lastChange: t.field({
      type: DeploymentChange,
      nullable: true,
      description:
        'What somebody did to it last, at `updatedAt`. Null: a server that does not note it yet has changed it last.',
      select: DERIVED.lastChange.select,
      resolve: (deployment, _args, { clock }) => DERIVED.lastChange.of(deployment, clock()),
    }),
    imageVersion: t.exposeString('imageVersion', { nullable: true }),
    createdBy: t.exposeString('createdBy', { nullable: true }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    version: t.exposeInt('edit', { description: VERSION_DESCRIPTION }),
    latestRevision: t.relation('latestRevision', { nullable: true }),
    activeRevision: t.relation('activeRevision', {
      nullable: true,
      description: 'What serves, whatever its status.',
    }),
    revisions: t.connection(
      {
        type: Revision,
        description: 'Newest first.',
        complexity: pageCost,
        args: { status: t.arg({ type: [RevisionStatus], description: 'Only those with one of these.' }) },
        select: (args, _ctx, nested) => {
          const window = revisionWindow(args, parseRevisionFilter({ status: args.status }))
          // a page of which no node is selected still has cursors
          return { revisions: nested({ ...window, select: { number: true } }, nodesOf('Revision')) }
        },
        resolve: (deployment, args, ctx) => {
          // whole rows, whenever a node is selected
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
        description: 'What happened to it and its revisions, oldest first.',
        complexity: pageCost,
        resolve: (deployment, args, ctx) => eventsOf('deploymentId', deployment.id, args, ctx),
      },
      EventConnection,
    ),
  }),
})

/** One of the deployment's name is made with every deployment. */
builder.prismaObject('TracingProject', {
  description: 'Where the traces of a deployment go. It has the deployment’s name and can outlive it.',
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
    description: 'One deployment; NOT_FOUND if there is none of this id.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (query, _root, { id }, ctx) => selectDeployment(ctx, { path: { deployment_id: id } }, query),
  }),
)
