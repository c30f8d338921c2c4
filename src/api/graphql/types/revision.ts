/** Revisions: one build or image version of a deployment. What is done with one is next door. */
import { REVISION_DERIVED } from '../../../domain/revisions/derived.ts'
import { selectRevision } from '../../../domain/revisions/read.ts'
import { builder } from '../builder/builder.ts'
import { pageCost } from '../builder/cost.ts'
import { DeploymentSource, Reason, RevisionStatus, RevisionTrigger } from '../builder/enums.ts'
import { Actor, Event, EventConnection, eventsOf } from './event.ts'
import { SourceRevisionConfig } from './source-config.ts'

export const Revision = builder.prismaObject('Revision', {
  description: 'One build or image version of a deployment. What it is made of never changes.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    number: t.exposeInt('number', { description: '1, 2, 3 … within its deployment.' }),
    status: t.expose('status', { type: RevisionStatus }),
    statusMessage: t.string({
      nullable: true,
      description: 'Why it failed or was skipped, or what it waits for.',
      resolve: (revision) => REVISION_DERIVED.statusMessage.of(revision),
    }),
    reason: t.field({
      type: Reason,
      nullable: true,
      description: 'What `statusMessage` says, for machines.',
      resolve: (revision) => REVISION_DERIVED.reason.of(revision),
    }),
    reasonSince: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Since when that is the reason.',
      resolve: (revision) => REVISION_DERIVED.reasonSince.of(revision),
    }),
    statusSince: t.expose('statusSince', { type: 'DateTime', description: 'Since when it has this status.' }),
    source: t.expose('source', { type: DeploymentSource }),
    sourceRevisionConfig: t.field({ type: SourceRevisionConfig, resolve: (revision) => revision }),
    attempt: t.exposeInt('attempt', { description: '1, and one more with each redeploy.' }),
    commitMessage: t.exposeString('commitMessage', {
      nullable: true,
      description: 'The first line of what its commit says, as far as git or the provider told it.',
    }),
    commitAuthor: t.exposeString('commitAuthor', { nullable: true, description: 'The name of the commit’s author.' }),
    installCommand: t.exposeString('installCommand', { nullable: true, description: 'Null: detected.' }),
    buildCommand: t.exposeString('buildCommand', { nullable: true, description: 'Null: none.' }),
    trigger: t.field({
      type: RevisionTrigger,
      nullable: true,
      description: 'What made it; null: nobody noted it.',
      resolve: (revision) => REVISION_DERIVED.trigger.of(revision),
    }),
    isActive: t.boolean({
      description: 'Whether it is what serves.',
      select: REVISION_DERIVED.isActive.select,
      resolve: (revision) => REVISION_DERIVED.isActive.of(revision),
    }),
    createdBy: t.exposeString('createdBy', { nullable: true }),
    createdByActor: t.field({
      type: Actor,
      nullable: true,
      description: 'Who made it; null: nobody noted it.',
      resolve: (revision) => REVISION_DERIVED.createdByActor.of(revision),
    }),
    rolloutAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When its newest attempt was asked for; null: nobody noted it.',
      resolve: (revision) => REVISION_DERIVED.rolloutAt.of(revision),
    }),
    rolloutBy: t.field({
      type: Actor,
      nullable: true,
      description: 'Who asked for its newest attempt: of one that was redeployed not who made it.',
      resolve: (revision) => REVISION_DERIVED.rolloutBy.of(revision),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    deployedAt: t.expose('deployedAt', { type: 'DateTime', nullable: true }),
    deployment: t.relation('deployment'),
    events: t.connection(
      {
        type: Event,
        description: 'What happened to it, oldest first.',
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
    description: 'One revision; NOT_FOUND if there is none of this id.',
    args: { id: t.arg.id({ required: true }) },
    resolve: (query, _root, { id }, ctx) => selectRevision(ctx, { path: { revision_id: id } }, query),
  }),
)
