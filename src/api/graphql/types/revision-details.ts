/**
 * Details of a revision that are not in its row: each is read for all revisions of a list together. `compareRevisions`: the
 * differences between two revisions.
 */

import { camel } from '../../../domain/parsing/codec.ts'
import type { Difference, NameDifferences } from '../../../domain/revisions/compare.ts'
import { compareAnyRevisions, type RevisionComparison } from '../../../domain/revisions/compare-revisions.ts'
import { readQueuePositions } from '../../../domain/revisions/read.ts'
import { knownRuntimeConfig, RUNTIME_CONFIG_FIELDS } from '../../../domain/revisions/runtime-config.ts'
import {
  durationsOf,
  type RevisionDurations,
  type RevisionStep,
  readSteps,
} from '../../../domain/revisions/step-history.ts'
import { readWhyNotRedeployable } from '../../../domain/rollouts/redeploy.ts'
import { fingerprintsOf, type SecretFingerprint } from '../../../domain/secrets/secret-set.ts'
import { type BuildPlanReport, knownBuildPlan } from '../../../domain/values/build-plan.ts'
import type { Revision as RevisionRow } from '../../../domain/values/row-types.ts'
import { loadBatched, loadRow } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { Reason, RevisionPart, RevisionStepKind, StepOutcome } from '../builder/enums.ts'
import { ResourceSpec, SecretReference } from './deployment-parts.ts'
import { Revision } from './revision.ts'

const Step = builder.objectRef<RevisionStep>('RevisionStep').implement({
  description: 'One step of work on a revision.',
  fields: (t) => ({
    kind: t.expose('kind', { type: RevisionStepKind }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When the step became available to workers.' }),
    startedAt: t.expose('startedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Null: no worker has started it.',
    }),
    endedAt: t.expose('endedAt', { type: 'DateTime', nullable: true, description: 'Null: the step has not ended.' }),
    tries: t.exposeInt('tries', {
      description: 'How often the step was started. More than once means that a worker was lost.',
    }),
    outcome: t.expose('outcome', { type: StepOutcome, nullable: true, description: 'Null: the step has not ended.' }),
    reason: t.expose('reason', {
      type: Reason,
      nullable: true,
      description: 'The machine-readable reason of the failure.',
    }),
    isCurrent: t.exposeBoolean('isCurrent', {
      description: 'true: the step belongs to the newest attempt. false: to an earlier one.',
    }),
  }),
})

const seconds = (description: string) => ({ nullable: true, description }) as const

const Durations = builder.objectRef<RevisionDurations>('RevisionDurations').implement({
  description:
    'Durations of the newest attempt in seconds. Null: the phase was not reached, is not over, or was not recorded.',
  fields: (t) => ({
    waited: t.exposeFloat('waited', seconds('The time without a worker.')),
    provision: t.exposeFloat('provision', seconds('The time of provisioning the deployment.')),
    build: t.exposeFloat('build', seconds('The time of the build.')),
    deploy: t.exposeFloat('deploy', seconds('The time of the deploy.')),
    total: t.exposeFloat('total', seconds('The time from the request until the work ended.')),
  }),
})

const Fingerprint = builder.objectRef<SecretFingerprint>('SecretFingerprint').implement({
  description:
    'Tells whether two revisions of a deployment have the same value for a name. Compare fingerprints only within one answer.',
  fields: (t) => ({ name: t.exposeString('name'), fingerprint: t.exposeString('fingerprint') }),
})

const BuildPlan = builder.objectRef<BuildPlanReport>('BuildPlan').implement({
  description: 'The steps of the build, derived from the files of the source.',
  fields: (t) => ({
    kind: t.exposeString('kind', { description: 'The kind of build: `dockerfile`, `node` or `python`.' }),
    server: t.exposeString('server', {
      description:
        '`own`: the source contains its server. `supplied`: the source contains only graphs, and the platform supplies the server.',
    }),
    sentence: t.exposeString('sentence', { description: 'The whole plan in one sentence for people.' }),
    install: t.exposeStringList('install', { description: 'The install commands in order.' }),
    build: t.exposeString('build', { nullable: true, description: 'The build command. Null: there is none.' }),
    start: t.exposeString('start', { nullable: true, description: 'The start command. Null: the image defines it.' }),
  }),
})

const stepsOf = async (id: string, ctx: GraphQLContext) =>
  (await loadBatched(ctx, 'steps of revisions', id, (ids) => readSteps(ctx, ids))) ?? []

const whyNotOf = (id: string, ctx: GraphQLContext) =>
  loadBatched(ctx, 'redeployable', id, (ids) => readWhyNotRedeployable(ctx, ids))

builder.prismaObjectFields(Revision, (t) => ({
  steps: t.field({
    type: [Step],
    description: 'The steps of work on the revision, oldest first, including earlier attempts. Old steps are deleted.',
    resolve: ({ id }, _args, ctx) => stepsOf(id, ctx),
  }),
  durations: t.field({
    type: Durations,
    resolve: async (revision, _args, ctx) => durationsOf(revision, await stepsOf(revision.id, ctx)),
  }),
  queuePosition: t.int({
    nullable: true,
    description:
      'The position among the revisions that wait for the same listener or for a built-in worker. 1 has waited longest. Null: the revision does not wait for a worker.',
    resolve: async ({ id }, _args, ctx) =>
      (await loadBatched(ctx, 'queue positions', id, (ids) => readQueuePositions(ctx, ids))) ?? null,
  }),
  canRedeploy: t.boolean({
    description: 'Whether the revision can be redeployed. It does not say whether the caller may do it.',
    resolve: async ({ id }, _args, ctx) => (await whyNotOf(id, ctx)) === null,
  }),
  whyNotRedeployable: t.string({
    nullable: true,
    description:
      'Why the revision can’t be redeployed, as a clause for people: “it is being built”. Null: it can be redeployed.',
    resolve: async ({ id }, _args, ctx) => (await whyNotOf(id, ctx)) ?? null,
  }),
  supersededBy: t.prismaField({
    type: Revision,
    nullable: true,
    description: 'For a skipped revision, the revision that superseded it.',
    resolve: (query, { supersededById }, _args, ctx) => loadRow<RevisionRow>(ctx, 'Revision', supersededById, query),
  }),
  buildPlan: t.field({
    type: BuildPlan,
    nullable: true,
    description: 'The build plan. Null: the revision needs no build, is not built yet, or the plan was not reported.',
    select: { buildPlan: true },
    resolve: ({ buildPlan }) => knownBuildPlan(buildPlan),
  }),
  secretFingerprints: t.field({
    type: [Fingerprint],
    description: 'Fingerprints of the revision’s secrets.',
    complexity: 10,
    select: { secretSet: true },
    resolve: ({ secretSet }, _args, { keyring }) => fingerprintsOf(keyring, secretSet),
  }),
  effectiveResources: t.field({
    type: ResourceSpec,
    nullable: true,
    description:
      'The resources, with defaults, that the revision runs with or last ran with. They belong to the deployment and change without a new revision. Null: not recorded.',
    select: RUNTIME_CONFIG_FIELDS,
    resolve: (revision) => {
      const known = knownRuntimeConfig(revision)
      return known && { ...known.resources }
    },
  }),
  secretReferences: t.field({
    type: [SecretReference],
    nullable: true,
    description: 'The secret references that the revision runs with or last ran with. Null: not recorded.',
    select: RUNTIME_CONFIG_FIELDS,
    resolve: (revision) => knownRuntimeConfig(revision)?.references,
  }),
}))

const Differs = builder.objectRef<Difference>('RevisionDifference').implement({
  description: 'A field that differs between two revisions.',
  fields: (t) => ({
    part: t.expose('part', { type: RevisionPart }),
    field: t.string({
      description: 'The field’s name in this schema: `repoRef`, `memoryMb`.',
      resolve: ({ field }) => camel(field),
    }),
    from: t.exposeString('from', {
      nullable: true,
      description: 'The value in `from`. Resources that are not text are JSON.',
    }),
    to: t.exposeString('to', { nullable: true }),
  }),
})

const Names = builder.objectRef<NameDifferences>('NameDifferences').implement({
  description: 'Names in alphabetical order, without values.',
  fields: (t) => ({
    added: t.exposeStringList('added'),
    removed: t.exposeStringList('removed'),
    changed: t.exposeStringList('changed', { description: 'Names that both revisions have with different values.' }),
  }),
})

const Comparison = builder.objectRef<RevisionComparison>('RevisionComparison').implement({
  description: 'The differences between two revisions of a deployment.',
  fields: (t) => ({
    from: t.expose('from', { type: Revision }),
    to: t.expose('to', { type: Revision }),
    isSame: t.exposeBoolean('isSame', { description: 'Whether no known part differs.' }),
    differences: t.expose('differences', {
      type: [Differs],
      description: 'Differences of source, commit, image, commands and resources.',
    }),
    secrets: t.expose('secrets', {
      type: Names,
      description: 'Differences of secrets by name and value. The time when a secret was set does not count.',
    }),
    secretReferences: t.expose('references', {
      type: Names,
      nullable: true,
      description: 'Differences of secret references by variable name. Null: not recorded for one of the revisions.',
    }),
    resourcesKnown: t.exposeBoolean('resourcesKnown', {
      description: 'false: the resources of one revision were not recorded, so resources are not compared.',
    }),
  }),
})

builder.queryField('compareRevisions', (t) =>
  t.field({
    type: Comparison,
    nullable: true,
    description: 'Compares two revisions of one deployment. NOT_FOUND if one of the ids is unknown.',
    args: {
      from: t.arg.id({ required: true }),
      to: t.arg.id({ required: true }),
      redeployed: t.arg.boolean({
        description:
          'true: compares `to` as it would run after a redeploy now, with its deployment’s current resources and secret references.',
      }),
    },
    resolve: (_root, { from, to, redeployed }, ctx) =>
      compareAnyRevisions(ctx, { query: { from, to, ...(redeployed == null ? {} : { redeployed }) } }),
  }),
)
