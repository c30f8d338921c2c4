/** `revisionStatusChanged`: the status of revisions as it changes, none lost, none twice, in order (docs/api-rules.md#graphql). */

import { NotFoundError } from '../../../domain/errors/errors.ts'
import { selectRevision } from '../../../domain/revisions/read.ts'
import type { RevisionStatusEvent } from '../../realtime/status-event.ts'
import { streamRevisionStatus } from '../../realtime/status-stream.ts'
import { builder } from '../builder/builder.ts'
import { rejectExpensive } from '../builder/cost.ts'
import { Reason, RevisionStatus } from '../builder/enums.ts'
import { Revision } from './revision.ts'

const RevisionStatusChange = builder.objectRef<RevisionStatusEvent>('RevisionStatusChange').implement({
  description: 'A change of a revision’s status.',
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: 'Give it as `after` to go on from here.' }),
    deploymentId: t.exposeID('deploymentId'),
    revisionId: t.exposeID('revisionId'),
    revision: t.prismaField({
      type: Revision,
      nullable: true,
      description: 'The revision as it is now; null if its deployment is gone.',
      resolve: (query, { revisionId }, _args, ctx) =>
        selectRevision(ctx, { path: { revision_id: revisionId } }, query).catch(nullIfNotFound),
    }),
    from: t.expose('from', { type: RevisionStatus, nullable: true, description: 'Null for the current status.' }),
    to: t.expose('to', { type: RevisionStatus }),
    reason: t.expose('reason', { type: Reason, nullable: true, description: 'What `message` says, for machines.' }),
    message: t.exposeString('message', { nullable: true }),
    attempt: t.exposeInt('attempt'),
    occurredAt: t.expose('occurredAt', { type: 'DateTime' }),
  }),
})

/** An event stays in the log when its revision is torn down. */
function nullIfNotFound(error: unknown): null {
  if (error instanceof NotFoundError) return null
  throw error
}

builder.subscriptionField('revisionStatusChanged', (t) =>
  t.field({
    type: RevisionStatusChange,
    description:
      'Changes of status in one revision, one deployment or the workspace. Without `after`: first the current status ' +
      '(of the revision, or of the deployment’s latest), then every change. With it: every change since. With ' +
      '`revisionId` it completes at a terminal status. A stream that is ended before its time (the client reads too ' +
      'slowly, or the server stops) ends with an error; its extensions have the `cursor` to go on from.',
    args: { deploymentId: t.arg.id(), revisionId: t.arg.id(), after: t.arg.string() },
    subscribe: (_root, args, ctx, info) => {
      rejectExpensive(ctx, info)
      return streamRevisionStatus(ctx, ctx.relay, { ...args, after: ctx.lastEventId ?? args.after })
    },
    resolve: (event) => event,
  }),
)
