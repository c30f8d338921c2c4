/** What is told of a revision beside its own row: each is read for all revisions of a list together. */

import { readQueuePositions } from '../../../domain/revisions/queue-position.ts'
import { readRevisions } from '../../../domain/revisions/read.ts'
import { knownRunsWith, RUNS_WITH_FIELDS } from '../../../domain/revisions/runs-with.ts'
import { durationsOf, type RevisionDurations, type RevisionStep, readSteps } from '../../../domain/revisions/steps.ts'
import { readWhyNotRedeployable } from '../../../domain/rollouts/redeployable.ts'
import { fingerprintsOf, type SecretFingerprint } from '../../../domain/secrets/fingerprints.ts'
import { type BuildPlanReport, knownBuildPlan } from '../../../domain/values/build-plan.ts'
import { loadBatched } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { Reason, RevisionStepKind, StepOutcome } from '../builder/enums.ts'
import { Revision } from './revision.ts'
import { ResourceSpec, SecretReference } from './source-config.ts'

const Step = builder.objectRef<RevisionStep>('RevisionStep').implement({
  description: 'A piece of work on a revision.',
  fields: (t) => ({
    kind: t.expose('kind', { type: RevisionStepKind }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Since when somebody could take it.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', nullable: true, description: 'Null: nobody has taken it.' }),
    endedAt: t.expose('endedAt', { type: 'DateTime', nullable: true, description: 'Null: it has not ended.' }),
    tries: t.exposeInt('tries', {
      description: 'How often it was begun; more than once: whoever worked on it was lost.',
    }),
    outcome: t.expose('outcome', { type: StepOutcome, nullable: true, description: 'Null: it has not ended.' }),
    reason: t.expose('reason', { type: Reason, nullable: true, description: 'Why it failed, for machines.' }),
    isCurrent: t.exposeBoolean('isCurrent', { description: 'Of the newest attempt; false: of one before.' }),
  }),
})

const seconds = (what: string) => ({ nullable: true, description: what }) as const

const Durations = builder.objectRef<RevisionDurations>('RevisionDurations').implement({
  description:
    'How long the newest attempt took, in seconds. Null: it did not come to that, it is not over, or nobody knows.',
  fields: (t) => ({
    waited: t.exposeFloat('waited', seconds('In which nobody worked on it.')),
    provision: t.exposeFloat('provision', seconds('Of the provisioning of its deployment.')),
    build: t.exposeFloat('build', seconds('Of its build.')),
    deploy: t.exposeFloat('deploy', seconds('Of its deploy.')),
    total: t.exposeFloat('total', seconds('From when it was asked for until its work ended.')),
  }),
})

const Fingerprint = builder.objectRef<SecretFingerprint>('SecretFingerprint').implement({
  description:
    'Says whether two revisions of a deployment have the same value under a name. To be compared within one answer alone.',
  fields: (t) => ({ name: t.exposeString('name'), fingerprint: t.exposeString('fingerprint') }),
})

const BuildPlan = builder.objectRef<BuildPlanReport>('BuildPlan').implement({
  description: 'What its build does or did, read off the files of its source.',
  fields: (t) => ({
    kind: t.exposeString('kind', { description: 'What is built: `dockerfile`, `node`, `python`.' }),
    server: t.exposeString('server', {
      description: '`own`: the tree brings its server. `supplied`: it has graphs alone, and the platform brings it.',
    }),
    sentence: t.exposeString('sentence', { description: 'All of it, for people.' }),
    install: t.exposeStringList('install', { description: 'What installs, in this order.' }),
    build: t.exposeString('build', { nullable: true, description: 'What builds then. Null: nothing.' }),
    start: t.exposeString('start', { nullable: true, description: 'What starts it. Null: the image says.' }),
  }),
})

const stepsOf = async (id: string, ctx: GraphQLContext) =>
  (await loadBatched(ctx, 'steps of revisions', id, (ids) => readSteps(ctx, ids))) ?? []

const whyNotOf = (id: string, ctx: GraphQLContext) =>
  loadBatched(ctx, 'redeployable', id, (ids) => readWhyNotRedeployable(ctx, ids))

builder.prismaObjectFields(Revision, (t) => ({
  steps: t.field({
    type: [Step],
    description: 'The work on it, oldest first, with that of attempts before. Of long ago nothing is left of it.',
    resolve: ({ id }, _args, ctx) => stepsOf(id, ctx),
  }),
  durations: t.field({
    type: Durations,
    resolve: async (revision, _args, ctx) => durationsOf(revision, await stepsOf(revision.id, ctx)),
  }),
  queuePosition: t.int({
    nullable: true,
    description:
      'Its place among all that wait for the same listener, or for a built-in worker: 1 has waited longest. Null: it waits for nobody to take its work.',
    resolve: async ({ id }, _args, ctx) =>
      (await loadBatched(ctx, 'queue positions', id, (ids) => readQueuePositions(ctx, ids))) ?? null,
  }),
  canRedeploy: t.boolean({
    description: 'Whether redeployRevision would take it, by what it is; not, whether the caller may.',
    resolve: async ({ id }, _args, ctx) => (await whyNotOf(id, ctx)) === null,
  }),
  whyNotRedeployable: t.string({
    nullable: true,
    description: 'A clause for people: “it is being built”. Null: it can be redeployed.',
    resolve: async ({ id }, _args, ctx) => (await whyNotOf(id, ctx)) ?? null,
  }),
  supersededBy: t.field({
    type: Revision,
    nullable: true,
    description: 'Of one that was skipped: the revision of the newer rollout.',
    resolve: async ({ supersededById: id }, _args, ctx) =>
      id === null ? null : ((await loadBatched(ctx, 'revisions', id, (ids) => readRevisions(ctx, ids))) ?? null),
  }),
  buildPlan: t.field({
    type: BuildPlan,
    nullable: true,
    description: 'What its build does or did. Null: it is not built, not yet, or nobody has reported it.',
    select: { buildPlan: true },
    resolve: ({ buildPlan }) => knownBuildPlan(buildPlan),
  }),
  secretFingerprints: t.field({
    type: [Fingerprint],
    description: 'Of the secrets that it runs with.',
    complexity: 10,
    select: { secretSet: true },
    resolve: ({ secretSet }, _args, { keyring }) => fingerprintsOf(keyring, secretSet),
  }),
  effectiveResources: t.field({
    type: ResourceSpec,
    nullable: true,
    description:
      'With defaults filled in, as of the deployment: what it runs with, or ran with last. They are its deployment’s, and change without a revision. Null: nobody noted them.',
    select: RUNS_WITH_FIELDS,
    resolve: (revision) => {
      const known = knownRunsWith(revision)
      return known && { ...known.resources }
    },
  }),
  secretReferences: t.field({
    type: [SecretReference],
    nullable: true,
    description: 'What it runs with, or ran with last; as effectiveResources.',
    select: RUNS_WITH_FIELDS,
    resolve: (revision) => knownRunsWith(revision)?.references,
  }),
}))
