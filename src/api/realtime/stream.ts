/**
 * `revisionStatusChanged` (docs/api-rules.md#graphql): the status changes of one revision, one deployment or the workspace,
 * none lost, none twice, in order, across reconnects, restarts and replicas.
 * The order of the steps is what makes it so: register with the relay, read the log's end together with the
 * current status in one snapshot, then follow the log from there (follow.ts).
 */
import { z } from 'zod'
import { requireRole } from '../../domain/context/access.ts'
import type { RequestContext } from '../../domain/context/context.ts'
import { takeSlot } from '../../domain/context/slots.ts'
import { NotFoundError } from '../../domain/core/errors.ts'
import { uuid } from '../../domain/core/fields.ts'
import { parse } from '../../domain/core/parse.ts'
import { readPastCursor, refuseExpired } from '../../domain/events/cursor.ts'
import { type EventScope, readSnapshot } from '../../domain/events/read.ts'
import { follow } from './follow.ts'
import type { Mailbox } from './mailbox.ts'
import type { Relay } from './relay.ts'
import type { RevisionStatusEvent } from './status-event.ts'

/** What is streamed; null means absent. With both ids the revision must be the deployment's. */
export interface StreamArgs {
  deploymentId?: string | null
  revisionId?: string | null
  /** cursor of the last event that was received; without it the stream begins with the current status */
  after?: string | null
}

const streamInput = z.object({
  query: z.object({ deployment_id: uuid.optional(), revision_id: uuid.optional(), after: z.string().optional() }),
})

/**
 * Subscribes before it resolves, so that nothing that happens from then on is missed, however late the first
 * `next()` comes. With `revisionId` it completes at a terminal status, and one that goes on behind the end of what
 * is torn down completes there; otherwise it goes on until `return()` or `signal` ends it. Role: viewer. Throws
 * ValidationError, NotFoundError, and RATE_LIMITED when the workspace has too many streams; iterating throws
 * StreamInterruptedError when the subscriber is too slow or the relay stops.
 */
export async function streamRevisionStatus(
  ctx: RequestContext,
  relay: Relay,
  args: StreamArgs,
  signal: AbortSignal,
): Promise<AsyncIterableIterator<RevisionStatusEvent>> {
  requireRole(ctx, 'viewer')
  const { query } = parse(streamInput, {
    query: {
      deployment_id: args.deploymentId ?? undefined,
      revision_id: args.revisionId ?? undefined,
      after: args.after ?? undefined,
    },
  })
  const ids = { deploymentId: query.deployment_id, revisionId: query.revision_id }
  const scope: EventScope = { types: ['revision.status'], ...ids }
  const leave = takeSlot(ctx, 'streams')
  const mailbox = relay.subscribe(ctx.workspace.id, scope)
  mailbox.ended.addEventListener('abort', leave, { once: true })
  if (mailbox.ended.aborted) leave()
  try {
    const snapshot = await readSnapshot(ctx.db, ctx.workspace.id, ids)
    // a stream that goes on still gets the last events of what has been torn down meanwhile
    const there = !snapshot.gone || query.after !== undefined
    if (ids.deploymentId && !(snapshot.deploymentId && there)) throw new NotFoundError('Deployment', ids.deploymentId)
    if (ids.revisionId && !(snapshot.revision && there)) throw new NotFoundError('Revision', ids.revisionId)
    const after = query.after === undefined ? null : readPastCursor(ctx, query.after, 'after', snapshot.sequence)
    if (after !== null) refuseExpired(after, snapshot.removed)
    relay.began(ctx.workspace.id, snapshot.sequence)
    const events = follow(relay, mailbox, { workspaceId: ctx.workspace.id, scope, snapshot, after })
    return endWith(events, mailbox, signal)
  } catch (error) {
    mailbox.close()
    throw error
  }
}

/** Lets `return()` and the signal end a stream that waits: a generator alone would first wait for its next event. */
function endWith(
  events: AsyncGenerator<RevisionStatusEvent, void>,
  mailbox: Mailbox,
  signal: AbortSignal,
): AsyncIterableIterator<RevisionStatusEvent> {
  const end = () => mailbox.close()
  signal.addEventListener('abort', end, { once: true })
  mailbox.ended.addEventListener('abort', () => signal.removeEventListener('abort', end), { once: true })
  if (signal.aborted) end()
  return {
    async next() {
      const result = await events.next().catch((error: unknown) => {
        end()
        throw error
      })
      if (result.done) end()
      return result
    },
    async return() {
      end()
      await events.return()
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
