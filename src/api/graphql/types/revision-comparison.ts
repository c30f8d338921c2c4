/** `compareRevisions`: the differences between two revisions of a deployment. */
import { camel } from '../../../domain/parsing/codec.ts'
import type { Difference, NameDifferences } from '../../../domain/revisions/compare.ts'
import { compareAnyRevisions, type RevisionComparison } from '../../../domain/revisions/compare-revisions.ts'
import { builder } from '../builder/builder.ts'
import { RevisionPart } from '../builder/enums.ts'
import { Revision } from './revision.ts'

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
