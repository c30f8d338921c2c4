/** Revisions: one build or image version of a deployment, and everything that is done with one. */
import { createRevision, updateInput } from '../../domain/deployments/update.ts'
import { ConflictError, NotFoundError, NotRedeployableError } from '../../domain/errors.ts'
import { interruptInput, interruptRevision } from '../../domain/revisions/interrupt.ts'
import { selectRevision } from '../../domain/revisions/read.ts'
import { redeployInput, redeployRevision } from '../../domain/revisions/redeploy.ts'
import { builder } from '../builder.ts'
import { pageCost } from '../cost.ts'
import { DeploymentSource, RevisionStatus } from '../enums.ts'
import { verbInput } from '../verb-input.ts'
import { Event, EventConnection, eventsOf } from './event.ts'
import { SourceRevisionConfig } from './source-config.ts'

export const Revision = builder.prismaObject('Revision', {
  description: 'One build or image version of a deployment. What it is made of never changes.',
  interfaces: [builder.nodeInterfaceRef()],
  fields: (t) => ({
    id: t.exposeID('id'),
    number: t.exposeInt('number', { description: '1, 2, 3 … within its deployment.' }),
    status: t.expose('status', { type: RevisionStatus }),
    statusMessage: t.exposeString('statusMessage', {
      nullable: true,
      description: 'Why it failed or was skipped, or what it waits for.',
    }),
    statusSince: t.expose('statusSince', { type: 'DateTime', description: 'Since when it has this status.' }),
    source: t.expose('source', { type: DeploymentSource }),
    sourceRevisionConfig: t.field({ type: SourceRevisionConfig, resolve: (revision) => revision }),
    attempt: t.exposeInt('attempt', { description: '1, and one more with each redeploy.' }),
    createdBy: t.exposeString('createdBy', { nullable: true }),
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

interface Written {
  deploymentId: string
  revisionId: string
}

/** What a mutation of a revision answers; each has a type of its own, so that it can grow. */
const success = (name: string) =>
  builder.objectRef<Written>(name).implement({
    fields: (t) => ({
      revision: t.prismaField({
        type: Revision,
        resolve: (query, { revisionId }, _args, ctx) =>
          selectRevision(ctx, { path: { revision_id: revisionId } }, query),
      }),
    }),
  })

const create = verbInput('CreateRevisionInput', updateInput)
const redeploy = verbInput('RedeployRevisionInput', redeployInput)
const interrupt = verbInput('InterruptRevisionInput', interruptInput)

builder.mutationFields((t) => ({
  createRevision: t.field({
    type: success('CreateRevisionSuccess'),
    description: 'Changes the deployment like updateDeployment, and makes a new revision whatever is said.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: create.type, required: true }) },
    resolve: async (_root, { input }, ctx) => {
      const { id, deploymentId } = await createRevision(ctx, create.raw(input))
      return { revisionId: id, deploymentId }
    },
  }),
  redeployRevision: t.field({
    type: success('RedeployRevisionSuccess'),
    description: 'Runs the revision again and makes it the active one when it succeeds: this is the rollback.',
    errors: { types: [NotFoundError, NotRedeployableError] },
    args: { input: t.arg({ type: redeploy.type, required: true }) },
    resolve: async (_root, { input }, ctx) => {
      const deploymentId = await redeployRevision(ctx, redeploy.raw(input))
      return { deploymentId, revisionId: input.revisionId as string }
    },
  }),
  interruptRevision: t.field({
    type: success('InterruptRevisionSuccess'),
    description: 'Stops the revision at once. What serves goes on serving.',
    errors: { types: [NotFoundError, ConflictError] },
    args: { input: t.arg({ type: interrupt.type, required: true }) },
    resolve: async (_root, { input }, ctx) => {
      const { id, deploymentId } = await interruptRevision(ctx, interrupt.raw(input))
      return { revisionId: id, deploymentId }
    },
  }),
}))
