/** Revisions: versions of a deployment, each made from one source. revision-mutations.ts has the mutations. */
import { REVISION_DERIVED_FIELDS } from '../../../domain/revisions/derived-fields.ts'
import { selectRevision } from '../../../domain/revisions/read.ts'
import { builder } from '../builder/builder.ts'
import { pageCost } from '../builder/cost.ts'
import { DeploymentSource, Reason, RevisionStatus, RevisionTrigger } from '../builder/enums.ts'
import { Actor, Event, EventConnection, eventsOf } from './event.ts'
import { SourceRevisionConfig } from './source-config.ts'

export const Revision = builder.prismaObject('Revision', {
  description: 'One build or image version of a deployment. Its source never changes.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    number: t.exposeInt('number', { description: 'The number within the deployment: 1, 2, 3, …' }),
    status: t.expose('status', { type: RevisionStatus }),
    statusMessage: t.string({
      nullable: true,
      description: 'Why the revision failed or was skipped, or what it waits for.',
      resolve: (revision) => REVISION_DERIVED_FIELDS.statusMessage.derive(revision),
    }),
    reason: t.field({
      type: Reason,
      nullable: true,
      description: 'The machine-readable form of `statusMessage`.',
      resolve: (revision) => REVISION_DERIVED_FIELDS.reason.derive(revision),
    }),
    reasonSince: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Since when `reason` applies.',
      resolve: (revision) => REVISION_DERIVED_FIELDS.reasonSince.derive(revision),
    }),
    statusSince: t.expose('statusSince', { type: 'DateTime', description: 'Since when the revision has this status.' }),
    source: t.expose('source', { type: DeploymentSource }),
    sourceRevisionConfig: t.field({ type: SourceRevisionConfig, resolve: (revision) => revision }),
    attempt: t.exposeInt('attempt', {
      description: 'The number of the current attempt. It starts at 1, and each redeploy adds one.',
    }),
    commitMessage: t.exposeString('commitMessage', {
      nullable: true,
      description: 'The first line of the commit message, if git or the provider reported it.',
    }),
    commitAuthor: t.exposeString('commitAuthor', { nullable: true, description: 'The name of the commit’s author.' }),
    installCommand: t.exposeString('installCommand', {
      nullable: true,
      description: 'Null: the command is detected from the source.',
    }),
    buildCommand: t.exposeString('buildCommand', { nullable: true, description: 'Null: there is no build command.' }),
    trigger: t.field({
      type: RevisionTrigger,
      nullable: true,
      description: 'What created the revision. Null: not recorded.',
      resolve: (revision) => REVISION_DERIVED_FIELDS.trigger.derive(revision),
    }),
    isActive: t.boolean({
      description: 'Whether this revision serves.',
      select: REVISION_DERIVED_FIELDS.isActive.select,
      resolve: (revision) => REVISION_DERIVED_FIELDS.isActive.derive(revision),
    }),
    createdBy: t.exposeString('createdBy', { nullable: true }),
    createdByActor: t.field({
      type: Actor,
      nullable: true,
      description: 'Who created the revision. Null: not recorded.',
      resolve: (revision) => REVISION_DERIVED_FIELDS.createdByActor.derive(revision),
    }),
    rolloutAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the newest attempt was requested. Null: not recorded.',
      resolve: (revision) => REVISION_DERIVED_FIELDS.rolloutAt.derive(revision),
    }),
    rolloutBy: t.field({
      type: Actor,
      nullable: true,
      description: 'Who requested the newest attempt. After a redeploy this can differ from `createdByActor`.',
      resolve: (revision) => REVISION_DERIVED_FIELDS.rolloutBy.derive(revision),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    deployedAt: t.expose('deployedAt', { type: 'DateTime', nullable: true }),
    deployment: t.relation('deployment'),
    events: t.connection(
      {
        type: Event,
        description: 'The events of the revision, oldest first.',
        complexity: pageCost,
        resolve: (revision, args, ctx) => eventsOf('revisionId', revision.id, args, ctx),
      },
      EventConnection,
    ),
  }),
})

builder.queryField('revision', (t) =>
  t.prismaField({
    type: Revision,
    nullable: true,
    description: 'One revision. NOT_FOUND if the id is unknown.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (query, _root, { id }, ctx) => selectRevision(ctx, { path: { revision_id: id } }, query),
  }),
)
