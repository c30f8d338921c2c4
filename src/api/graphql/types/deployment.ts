/** The type Deployment and the query for one deployment. deployment-list.ts and deployment-mutations.ts have the rest. */
import {
  CONDITION_FIELDS,
  conditionOf,
  WHY_NOT_LIVE_FIELDS,
  whyNotLive,
} from '../../../domain/deployment-status/condition.ts'
import { deploymentValidUntil, EXPIRY_FIELDS } from '../../../domain/deployment-status/expiry.ts'
import {
  type DeploymentHealth as Health,
  healthOf,
  isRestarting,
  isServing,
  RESTART_FIELDS,
  SERVING_FIELDS,
} from '../../../domain/deployment-status/serving.ts'
import {
  deploymentStatus,
  deploymentUrl,
  NAME_URL_FIELDS,
  nameUrl,
  STATUS_FIELDS,
  URL_DESCRIPTION,
  URL_FIELDS,
} from '../../../domain/deployment-status/status.ts'
import { readDeployment, TAGS } from '../../../domain/deployments/read.ts'
import type { Window } from '../../../domain/paging/paging.ts'
import { countRevisions, parseRevisionFilter, REVISIONS, revisionCursor } from '../../../domain/revisions/read.ts'
import { presentWithOrigins } from '../../../domain/secrets/secret-set.ts'
import { lastRestart, type LastRestart as Restart, restartCount } from '../../../domain/values/agent-restart.ts'
import { CHANGE_FIELDS, lastChangeOf } from '../../../domain/values/deployment-change.ts'
import {
  effectiveResources,
  effectiveSpec,
  type ResourceSpec as Resources,
} from '../../../domain/values/resource-spec.ts'
import type { Deployment as DeploymentRow, Revision as RevisionRow } from '../../../domain/values/row-types.ts'
import type { SecretReference as Reference } from '../../../domain/values/shapes.ts'
import { builder } from '../builder/builder.ts'
import { pageCost } from '../builder/cost.ts'
import { DeploymentAccess, DeploymentSource, DeploymentStatus, Reason, RevisionStatus } from '../builder/enums.ts'
import { VERSION_DESCRIPTION } from '../builder/mutation.ts'
import { derived, derivedNow, lookup, membersOfRow, nestedList, nestedPage, VERSIONED } from '../builder/row-fields.ts'
import {
  DeploymentChange,
  ResourceSpec,
  ResourceSpecInput,
  rawResources,
  Secret,
  SecretReference,
  SourceConfig,
  SourceRevisionConfig,
} from './deployment-parts.ts'
import { Event, EventConnection, eventsOf } from './event.ts'
import { Revision } from './revision.ts'
import { Tag } from './tag.ts'

const DeploymentHealth = builder.objectRef<Health>('DeploymentHealth').implement({
  description: 'The last reported health of the deployment’s replicas.',
  fields: (t) => ({
    ready: t.exposeInt('ready', { description: 'The number of replicas that serve.' }),
    desired: t.exposeInt('desired', { description: 'The number of replicas that should serve.' }),
    draining: t.exposeInt('draining', {
      description: 'The number of replaced replicas that take no new work and finish their runs.',
    }),
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

const LastRestart = builder.objectRef<Restart>('LastRestart').implement({
  description: 'The end of an agent that was then started again.',
  fields: (t) => ({
    at: t.expose('at', { type: 'DateTime', description: 'When the agent ended.' }),
    revisionId: t.exposeID('revisionId', { description: 'The revision of the agent.' }),
    reason: t.expose('reason', { type: Reason, description: 'Why it ended.' }),
    exitCode: t.exposeInt('exitCode', { nullable: true }),
    signal: t.exposeString('signal', { nullable: true, description: 'The signal that ended it, such as `SIGTERM`.' }),
    message: t.exposeString('message', { description: 'The reason as a message for people.' }),
  }),
})

const resourcesOf = (stored: Resources | null, requested: object | null | undefined) => {
  const effective = requested
    ? effectiveResources({ query: { resource_spec: rawResources(requested) } })
    : effectiveSpec(stored)
  return { ...effective }
}

const clocked = derivedNow({ select: EXPIRY_FIELDS, derive: deploymentValidUntil })
type Conditioned = Parameters<typeof conditionOf>[0]

const COUNT_FIELDS = { restarts: true } as const

const REVISION_PAGE = {
  list: REVISIONS,
  argsOf: ({ status, ...window }: Window & { status?: readonly string[] | null }) => ({
    window,
    filter: parseRevisionFilter({ status }),
  }),
  sort: { number: true },
  cursorOf: (revision: RevisionRow) => revisionCursor(revision),
}

export const Deployment = builder.prismaObject('Deployment', {
  description: 'An agent server with its source, its revisions and its health.',
  interfaces: [builder.nodeInterfaceRef()],
  ...VERSIONED,
  fields: (t) => ({
    id: t.exposeID('id'),
    tenantId: t.exposeID('workspaceId', { description: 'The workspace of the deployment.' }),
    name: t.exposeString('name'),
    source: t.expose('source', { type: DeploymentSource }),
    sourceConfig: t.field({ type: SourceConfig, ...membersOfRow }),
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
      extensions: { row: { members: { of: 'latestRevision' } } },
    }),
    secrets: t.field({
      type: [Secret],
      select: { secretSet: true },
      resolve: ({ secretSet }, _args, ctx) => presentWithOrigins(ctx, secretSet),
    }),
    secretReferences: t.field({
      type: [SecretReference],
      nullable: true,
      ...derived(
        { secretReferences: true },
        ({ secretReferences }: Pick<DeploymentRow, 'secretReferences'>) => secretReferences as Reference[] | null,
      ),
    }),
    access: t.expose('access', {
      type: DeploymentAccess,
      description: 'The callers that the agent gets requests of.',
    }),
    accessUndecided: t.boolean({
      description:
        'Whether the agent is public only because the deployment is older than `access`. A change that names `access` decides, also with `public`.',
      ...derived(
        { access: true, accessChosen: true },
        ({ access, accessChosen }: Pick<DeploymentRow, 'access' | 'accessChosen'>) =>
          access === 'public' && !accessChosen,
      ),
    }),
    idleMinutes: t.exposeInt('idleMinutes', {
      nullable: true,
      description:
        'The minutes without a request after which an agent with `minScale` 0 sleeps. null: the default of the server.',
    }),
    status: t.field({
      type: DeploymentStatus,
      ...clocked(STATUS_FIELDS, deploymentStatus),
    }),
    statusMessage: t.string({
      nullable: true,
      description:
        'Why nothing serves, what the teardown waits for, why the teardown failed, or that the git integration was removed.',
      ...clocked(CONDITION_FIELDS, (deployment: Conditioned, now) => conditionOf(deployment, now)?.message ?? null),
    }),
    reason: t.field({
      type: Reason,
      nullable: true,
      description: 'The machine-readable form of `statusMessage`.',
      ...clocked(CONDITION_FIELDS, (deployment: Conditioned, now) => conditionOf(deployment, now)?.reason ?? null),
    }),
    reasonSince: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Since when `reason` applies. Null: unknown.',
      ...clocked(CONDITION_FIELDS, (deployment: Conditioned, now) => conditionOf(deployment, now)?.since ?? null),
    }),
    serving: t.boolean({
      description: 'Whether the deployment serves requests now, as its lease holder reports.',
      ...clocked(SERVING_FIELDS, isServing),
    }),
    health: t.field({
      type: DeploymentHealth,
      nullable: true,
      description: 'Null only while the deployment is being deleted.',
      ...clocked(SERVING_FIELDS, healthOf),
    }),
    url: t.string({
      nullable: true,
      description: URL_DESCRIPTION,
      ...derived(URL_FIELDS, deploymentUrl),
    }),
    nameUrl: t.string({
      nullable: true,
      description:
        'The address with the deployment’s name at the door, which also works next to a custom_url. Null: its address is a port or an Ingress, or nothing was deployed yet.',
      ...derived(NAME_URL_FIELDS, nameUrl),
    }),
    whyNotLive: t.string({
      nullable: true,
      description:
        'One sentence that explains why the latest change is not live: nothing serves, or an older revision does. Null: it is live.',
      ...clocked(WHY_NOT_LIVE_FIELDS, whyNotLive),
    }),
    restartedAt: t.expose('restartedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a restart of the active revision was last requested. Null: not since its deploy.',
    }),
    restarting: t.boolean({
      description: 'Whether that restart is not done yet. The old processes serve until the new ones are ready.',
      ...derived(RESTART_FIELDS, isRestarting),
    }),
    restartCount: t.int({
      description: 'How often an agent ended by itself and was started again.',
      ...derived(COUNT_FIELDS, restartCount),
    }),
    lastRestart: t.field({
      type: LastRestart,
      nullable: true,
      description: 'The newest of these restarts.',
      ...derived(COUNT_FIELDS, lastRestart),
    }),
    lastChange: t.field({
      type: DeploymentChange,
      nullable: true,
      description:
        'The last change that a caller made, at `updatedAt`. Null: an older server, which did not record it, made the last change.',
      ...derived(CHANGE_FIELDS, lastChangeOf),
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
        args: { status: t.arg({ type: [RevisionStatus], description: 'Only revisions with one of these statuses.' }) },
        ...nestedPage('revisions', REVISION_PAGE, (ctx, ids, { filter }) => countRevisions(ctx, ids, filter)),
      },
      { name: 'RevisionConnection' },
      { name: 'RevisionEdge' },
    ),
    listener: t.relation('listener', { nullable: true }),
    tracingProject: t.relation('tracingProject', { nullable: true }),
    tags: t.field({ type: [Tag], ...nestedList('tags', TAGS) }),
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
  ...VERSIONED,
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
    description: 'One deployment. NOT_FOUND if the id is unknown.',
    ...lookup<DeploymentRow>('Deployment', (ctx, id, reading) =>
      readDeployment(ctx, { path: { deployment_id: id } }, reading),
    ),
  }),
)
