/** What an event is about: the deployment and the revision as they are now, and what everything else is called. Read for a whole list at once. */
import { nameSubjects, subjectOf } from '../../../domain/events/subjects.ts'
import { readNodes } from '../../../domain/nodes/read.ts'
import type { Deployment as DeploymentRow, Revision as RevisionRow } from '../../../domain/values/row-types.ts'
import { loadBatched } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { Deployment } from './deployment.ts'
import { Event } from './event.ts'
import { Revision } from './revision.ts'

/** Null: there is none, or it is gone. Those of one tick that are selected alike are one statement. */
async function linked<Row>(
  ctx: GraphQLContext,
  type: 'Deployment' | 'Revision',
  id: string | null,
  query: object,
): Promise<Row | null> {
  // Pothos refuses a query that nobody has looked at, also where there is nothing to read
  const selected = JSON.stringify(query)
  if (id === null) return null
  const row = await loadBatched(ctx, `${type} of events ${selected}`, id, async (ids) => {
    const rows = await readNodes(ctx, type, ids, query)
    return new Map(rows.map((one) => [one.id, one]))
  })
  return (row ?? null) as Row | null
}

builder.objectFields(Event, (t) => ({
  deployment: t.prismaField({
    type: Deployment,
    nullable: true,
    description: 'As it is now; null when it is gone.',
    resolve: (query, event, _args, ctx) => linked<DeploymentRow>(ctx, 'Deployment', event.deploymentId, query),
  }),
  revision: t.prismaField({
    type: Revision,
    nullable: true,
    description: 'As it is now; null when it is gone.',
    resolve: (query, event, _args, ctx) => linked<RevisionRow>(ctx, 'Revision', event.revisionId, query),
  }),
  subjectName: t.string({
    nullable: true,
    description:
      'What it is about is called so: the deployment, or what `subjectId` names. Null when nothing is left of that, or it has no name; people’s tokens are not named.',
    resolve: async (event, _args, ctx) => {
      const subject = subjectOf(event)
      if (!subject) return null
      return (await loadBatched(ctx, 'names of events', subject, (subjects) => nameSubjects(ctx, subjects))) ?? null
    },
  }),
}))
