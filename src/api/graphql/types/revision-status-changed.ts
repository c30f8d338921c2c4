/** `revisionStatusChanged`: status changes of revisions, in order and exactly once (docs/api-rules.md#graphql). */
import type { Revision as RevisionRow } from '../../../domain/values/row-types.ts'
import { type RevisionStatusEvent, streamRevisionStatus } from '../../realtime/status-stream.ts'
import { loadRow } from '../builder/batch.ts'
import { builder } from '../builder/builder.ts'
import { rejectExpensive } from '../builder/cost.ts'
import { Reason, RevisionStatus } from '../builder/enums.ts'
import { Revision } from './revision.ts'

const RevisionStatusChange = builder.objectRef<RevisionStatusEvent>('RevisionStatusChange').implement({
  description: 'A status change of a revision.',
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: 'Pass it as `after` to continue from here.' }),
    deploymentId: t.exposeID('deploymentId'),
    revisionId: t.exposeID('revisionId'),
    revision: t.prismaField({
      type: Revision,
      nullable: true,
      description: 'The current revision. Null after its deployment is deleted.',
      resolve: (query, { revisionId }, _args, ctx) => loadRow<RevisionRow>(ctx, 'Revision', revisionId, query),
    }),
    from: t.expose('from', {
      type: RevisionStatus,
      nullable: true,
      description: 'The previous status. Null: `to` is the current status.',
    }),
    to: t.expose('to', { type: RevisionStatus }),
    reason: t.expose('reason', {
      type: Reason,
      nullable: true,
      description: 'The machine-readable form of `message`.',
    }),
    message: t.exposeString('message', { nullable: true }),
    attempt: t.exposeInt('attempt'),
    occurredAt: t.expose('occurredAt', { type: 'DateTime' }),
  }),
})

builder.subscriptionField('revisionStatusChanged', (t) =>
  t.field({
    type: RevisionStatusChange,
    description:
      'Streams status changes of one revision, one deployment or the workspace. Without `after` it sends the current status ' +
      'first (of the revision, or of the deployment’s latest), then every change. With `after` it sends every change since. With ' +
      '`revisionId` it completes at a terminal status. A stream that ends early (the client reads too ' +
      'slowly, or the server stops) ends with an error. Its extensions have the `cursor` to continue from.',
    args: { deploymentId: t.arg.id(), revisionId: t.arg.id(), after: t.arg.string() },
    subscribe: (_root, args, ctx, info) => {
      rejectExpensive(ctx, info)
      return streamRevisionStatus(ctx, ctx.relay, { ...args, after: ctx.lastEventId ?? args.after })
    },
    resolve: (event) => event,
  }),
)
