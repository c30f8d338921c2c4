/** `compareRevisions`: what differs between two revisions of a deployment. */

import { camel } from '../../../domain/parsing/naming.ts'
import type { Difference, NameDifferences } from '../../../domain/revision-diff/compare.ts'
import { compareAnyRevisions, type RevisionComparison } from '../../../domain/revision-diff/compare-revisions.ts'
import { builder } from '../builder/builder.ts'
import { RevisionPart } from '../builder/enums.ts'
import { Revision } from './revision.ts'

const Differs = builder.objectRef<Difference>('RevisionDifference').implement({
  description: 'A field that differs.',
  fields: (t) => ({
    part: t.expose('part', { type: RevisionPart }),
    field: t.string({
      description: 'As this schema calls it: `repoRef`, `memoryMb`.',
      resolve: ({ field }) => camel(field),
    }),
    from: t.exposeString('from', { nullable: true, description: 'Of resources JSON, where it is no text.' }),
    to: t.exposeString('to', { nullable: true }),
  }),
})

const Names = builder.objectRef<NameDifferences>('NameDifferences').implement({
  description: 'Names, in alphabetical order; never values.',
  fields: (t) => ({
    added: t.exposeStringList('added'),
    removed: t.exposeStringList('removed'),
    changed: t.exposeStringList('changed', { description: 'In both, and not the same.' }),
  }),
})

const Comparison = builder.objectRef<RevisionComparison>('RevisionComparison').implement({
  description: 'What differs between two revisions of a deployment.',
  fields: (t) => ({
    from: t.expose('from', { type: Revision }),
    to: t.expose('to', { type: Revision }),
    isSame: t.exposeBoolean('isSame', { description: 'Nothing differs, as far as it is known.' }),
    differences: t.expose('differences', {
      type: [Differs],
      description: 'Of source, commit, image, commands, resources.',
    }),
    secrets: t.expose('secrets', {
      type: Names,
      description: 'By name, and by what they are: not by when they were set.',
    }),
    secretReferences: t.expose('references', {
      type: Names,
      nullable: true,
      description: 'By the name of the variable. Null: nobody noted those of one of them.',
    }),
    resourcesKnown: t.exposeBoolean('resourcesKnown', {
      description: 'false: nobody noted the resources of one of them, so none are compared.',
    }),
  }),
})

builder.queryField('compareRevisions', (t) =>
  t.field({
    type: Comparison,
    nullable: true,
    description: 'Compares two revisions of one deployment; NOT_FOUND if there is none of an id there.',
    args: {
      from: t.arg.id({ required: true }),
      to: t.arg.id({ required: true }),
      redeployed: t.arg.boolean({
        description:
          'true: `to` as it would run if it was redeployed now, with the resources and references to secrets that its deployment has now.',
      }),
    },
    resolve: (_root, { from, to, redeployed }, ctx) =>
      compareAnyRevisions(ctx, { query: { from, to, ...(redeployed == null ? {} : { redeployed }) } }),
  }),
)
