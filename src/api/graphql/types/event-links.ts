/**
 * Links from an event to its subject: the current deployment and revision, and the names of other subjects. Each is read for
 * a whole list together.
 */
import { nameSubjects, subjectOf } from '../../../domain/events/subjects.ts'
import type { Deployment as DeploymentRow, Revision as RevisionRow } from '../../../domain/values/row-types.ts'
import { loadBatched, loadRow } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import { Deployment } from './deployment.ts'
import { Event } from './event.ts'
import { Revision } from './revision.ts'

builder.objectFields(Event, (t) => ({
  deployment: t.prismaField({
    type: Deployment,
    nullable: true,
    description: 'The current deployment. Null after it is deleted.',
    resolve: (query, event, _args, ctx) => loadRow<DeploymentRow>(ctx, 'Deployment', event.deploymentId, query),
  }),
  revision: t.prismaField({
    type: Revision,
    nullable: true,
    description: 'The current revision. Null after it is deleted.',
    resolve: (query, event, _args, ctx) => loadRow<RevisionRow>(ctx, 'Revision', event.revisionId, query),
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
