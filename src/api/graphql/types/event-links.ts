/**
 * Links from an event to its subject: the current deployment and revision, and the names of other subjects. Each is read for
 * a whole list together.
 */
import { nameSubjects, subjectOf } from '../../../domain/events/subjects.ts'
import { readNodes } from '../../../domain/nodes.ts'
import type { Deployment as DeploymentRow, Revision as RevisionRow } from '../../../domain/values/row-types.ts'
import { loadBatched } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import type { GraphQLContext } from '../builder/context.ts'
import { Deployment } from './deployment.ts'
import { Event } from './event.ts'
import { Revision } from './revision.ts'

/** Null: the row never existed or is deleted. Equal selections in one tick share a statement. */
async function loadLinked<Row>(
  ctx: GraphQLContext,
  type: 'Deployment' | 'Revision',
  id: string | null,
  query: object,
): Promise<Row | null> {
  // Pothos throws if a query is not used, so serialize it before any return
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
    description: 'The current deployment. Null after it is deleted.',
    resolve: (query, event, _args, ctx) => loadLinked<DeploymentRow>(ctx, 'Deployment', event.deploymentId, query),
  }),
  revision: t.prismaField({
    type: Revision,
    nullable: true,
    description: 'The current revision. Null after it is deleted.',
    resolve: (query, event, _args, ctx) => loadLinked<RevisionRow>(ctx, 'Revision', event.revisionId, query),
  }),
  subjectName: t.string({
    nullable: true,
    description:
      'The current name of the deployment or of the resource in `subjectId`. Null if the resource is deleted or has no name. Tokens of people are never named.',
    resolve: async (event, _args, ctx) => {
      const subject = subjectOf(event)
      if (!subject) return null
      return (await loadBatched(ctx, 'names of events', subject, (subjects) => nameSubjects(ctx, subjects))) ?? null
    },
  }),
}))
