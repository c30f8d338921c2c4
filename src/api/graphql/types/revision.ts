/** Revisions: versions of a deployment, each made from one source. deployment-mutations.ts has the mutations. */
import { readAnyRevision } from '../../../domain/revisions/read.ts'
import { rolloutStartedAt } from '../../../domain/revisions/step-history.ts'
import { traceIdOfRevision } from '../../../domain/revisions/traces.ts'
import type { EventActor } from '../../../domain/values/event-types.ts'
import { currentMessageOf, MESSAGE_FIELDS } from '../../../domain/values/lifecycle.ts'
import { triggerOf } from '../../../domain/values/revision-source.ts'
import type { Revision as RevisionRow } from '../../../domain/values/row-types.ts'
import { builder } from '../builder/builder.ts'
import { pageCost } from '../builder/cost.ts'
import { DeploymentSource, Reason, RevisionStatus, RevisionTrigger } from '../builder/enums.ts'
import { derived, lookup, membersOfRow, VERSIONED } from '../builder/row-fields.ts'
import { SourceRevisionConfig } from './deployment-parts.ts'
import { Actor, Event, EventConnection, eventsOf } from './event.ts'

type Said = Pick<RevisionRow, keyof typeof MESSAGE_FIELDS>

export const Revision = builder.prismaObject('Revision', {
  description: 'One build or image version of a deployment. Its source never changes.',
  interfaces: [builder.nodeInterfaceRef()],
  ...VERSIONED,
  fields: (t) => ({
    id: t.exposeID('id'),
    number: t.exposeInt('number', { description: 'The number within the deployment: 1, 2, 3, …' }),
    status: t.expose('status', { type: RevisionStatus }),
    statusMessage: t.string({
      nullable: true,
      description: 'Why the revision failed or was skipped, or what it waits for.',
      ...derived(MESSAGE_FIELDS, (revision: Said) => currentMessageOf(revision).statusMessage),
    }),
    reason: t.field({
      type: Reason,
      nullable: true,
      description: 'The machine-readable form of `statusMessage`.',
      ...derived(MESSAGE_FIELDS, (revision: Said) => currentMessageOf(revision).reason),
    }),
    reasonSince: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Since when `reason` applies.',
      ...derived(MESSAGE_FIELDS, (revision: Said) => currentMessageOf(revision).reasonSince),
    }),
    statusSince: t.expose('statusSince', { type: 'DateTime', description: 'Since when the revision has this status.' }),
    source: t.expose('source', { type: DeploymentSource }),
    sourceRevisionConfig: t.field({ type: SourceRevisionConfig, ...membersOfRow }),
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
      ...derived({ trigger: true, number: true }, triggerOf),
    }),
    isActive: t.boolean({
      description: 'Whether this revision serves.',
      ...derived(
        { id: true, deployment: { select: { activeRevisionId: true } } },
        ({ id, deployment }: { id: string; deployment: { activeRevisionId: string | null } }) =>
          id === deployment.activeRevisionId,
      ),
    }),
    createdBy: t.exposeString('createdBy', { nullable: true }),
    createdByActor: t.field({
      type: Actor,
      nullable: true,
      description: 'Who created the revision. Null: not recorded.',
      ...derived(
        { createdActor: true },
        ({ createdActor }: Pick<RevisionRow, 'createdActor'>) => createdActor as EventActor | null,
      ),
    }),
    rolloutAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the newest attempt was requested. Null: not recorded.',
      ...derived({ rolloutAt: true, attempt: true, createdAt: true }, rolloutStartedAt),
    }),
    rolloutBy: t.field({
      type: Actor,
      nullable: true,
      description: 'Who requested the newest attempt. After a redeploy this can differ from `createdByActor`.',
      ...derived(
        { rolloutActor: true },
        ({ rolloutActor }: Pick<RevisionRow, 'rolloutActor'>) => rolloutActor as EventActor | null,
      ),
    }),
    traceId: t.string({
      nullable: true,
      description: 'The OpenTelemetry trace of the newest attempt. Null: the server exports no traces.',
      ...derived({ traceparent: true }, traceIdOfRevision),
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
    description: 'One revision. NOT_FOUND if the id is unknown.',
    ...lookup<RevisionRow>('Revision', (ctx, id, reading) =>
      readAnyRevision(ctx, { path: { revision_id: id } }, reading),
    ),
  }),
)
