/**
 * Streams events of a workspace, a deployment or a revision (docs/api-rules.md#events-and-streams), after a cursor or
 * from now on. A revision's stream begins with its status. It completes after the last possible event: the end of the
 * attempt, or the teardown.
 */
import { z } from 'zod'
import { NotFoundError } from '../../domain/errors/errors.ts'
import { readPastCursor, refuseExpired } from '../../domain/events/cursor.ts'
import { eventTypes, expandTypes } from '../../domain/events/page.ts'
import { type EventScope, hasEvents, inScope, type LogSnapshot, type StoredEvent } from '../../domain/events/read.ts'
import { queryText, queryUuid } from '../../domain/parsing/fields.ts'
import { parse, type RawInput } from '../../domain/parsing/parse.ts'
import { requireRole } from '../../domain/transaction/access.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import type { EventActor } from '../../domain/values/event-actor.ts'
import { isTerminal } from '../../domain/values/lifecycle.ts'
import { deploymentPath, revisionPath } from '../../domain/values/shapes.ts'
import { beginStream } from './begin-stream.ts'
import { snapshotOf } from './event-snapshot.ts'
import type { Relay } from './relay.ts'
import type { Selection, Stream } from './stream.ts'

/** An event of the log, or, without an actor, the current status at the start of a revision's stream. */
export type StreamedEvent = Omit<StoredEvent, 'actor'> & { actor: EventActor | null }

const place = { after: queryText, types: eventTypes }
const ofWorkspace = z.object({ query: z.object(place) })
const ofDeployment = z.object({ path: deploymentPath, query: z.object(place) })
const ofRevision = z.object({ path: revisionPath, query: z.object(place) })
const ofEither = z.object({ query: z.object({ ...place, deployment_id: queryUuid }) })

type Events = Promise<Stream<StreamedEvent>>

/** Role: viewer. Throws ValidationError, RATE_LIMITED. */
export async function streamWorkspaceEvents(ctx: RequestContext, raw: RawInput, relay: Relay): Events {
  requireRole(ctx, 'viewer')
  const { query } = parse(ofWorkspace, { query: {}, ...raw })
  return begin(ctx, relay, {}, query)
}

/** Role: viewer. Throws ValidationError, RATE_LIMITED, NotFoundError. */
export async function streamDeploymentEvents(ctx: RequestContext, raw: RawInput, relay: Relay): Events {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(ofDeployment, { query: {}, ...raw })
  return begin(ctx, relay, { deploymentId: path.deployment_id }, query)
}

/** Role: viewer. Throws ValidationError, RATE_LIMITED, NotFoundError. */
export async function streamRevisionEvents(ctx: RequestContext, raw: RawInput, relay: Relay): Events {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(ofRevision, { query: {}, ...raw })
  return begin(ctx, relay, { deploymentId: path.deployment_id, revisionId: path.revision_id }, query)
}

/** For GraphQL: the workspace's events, or one deployment's (`query.deployment_id`). */
export async function streamEvents(ctx: RequestContext, raw: RawInput, relay: Relay): Promise<Stream<StoredEvent>> {
  requireRole(ctx, 'viewer')
  const { query } = parse(ofEither, raw)
  const { deployment_id: deploymentId, ...rest } = query
  // without a revision there is no current status at the start, so every item has an actor
  return begin(ctx, relay, deploymentId === undefined ? {} : { deploymentId }, rest) as Promise<Stream<StoredEvent>>
}

type Subject = Pick<EventScope, 'deploymentId' | 'revisionId'>

async function begin(
  ctx: RequestContext,
  relay: Relay,
  subject: Subject,
  asked: { after?: string | undefined; types?: string[] | undefined },
): Events {
  return beginStream(ctx, relay.events, ctx.workspace.id, async (hold) => {
    const snapshot = await snapshotOf(ctx, relay, hold, subject, asked.after)
    const over = await isOver(ctx, subject, snapshot)
    const after = asked.after === undefined ? null : readPastCursor(ctx, asked.after, snapshot.sequence)
    if (after !== null) refuseExpired(after, snapshot.removed)
    const selected = selection(subject, expandTypes(asked.types))
    const current = after === null && subject.revisionId ? currentStatus(ctx.workspace.id, snapshot) : null
    return relay.events.stream(hold, selected, {
      position: after ?? snapshot.sequence,
      snapshot:
        current && inScope(current, { ...(asked.types && { types: expandTypes(asked.types)! }) }) ? current : null,
      knownEnd: snapshot.sequence,
      completesAtKnownEnd: over,
    })
  })
}

/** Whether no more events were possible when the snapshot was read. Throws NotFoundError. */
async function isOver(
  { db, workspace }: RequestContext,
  { deploymentId, revisionId }: Subject,
  { tornDown, deploymentId: deployment, revision }: LogSnapshot,
): Promise<boolean> {
  if (deploymentId === undefined) return false
  const there = revisionId === undefined ? deployment !== null : revision !== null
  if (there) return tornDown || (revisionId !== undefined && isTerminal(revision!.status))
  // its row is gone, too, but events outlive it
  if (await hasEvents(db, workspace.id, { deploymentId, ...(revisionId && { revisionId }) })) return true
  throw revisionId === undefined
    ? new NotFoundError('Deployment', deploymentId)
    : new NotFoundError('Revision', revisionId)
}

function selection(subject: Subject, types: readonly string[] | undefined): Selection<StoredEvent, StreamedEvent> {
  const { deploymentId, revisionId } = subject
  const sentScope: EventScope = { ...subject, ...(types && { types }) }
  const last = revisionId ? 'revision.status' : deploymentId ? 'deployment.torn_down' : null
  const isLast = revisionId
    ? ({ toStatus }: StoredEvent) => toStatus !== null && isTerminal(toStatus)
    : ({ type }: StoredEvent) => type === last
  // reads the completing type too, even if it isn't selected
  const scope = types && last ? { ...subject, types: [...new Set([...types, last])] } : sentScope
  return {
    key: JSON.stringify(['events', deploymentId, revisionId, types?.toSorted()]),
    scope,
    includes: (event) => inScope(event, scope),
    isSent: (event) => inScope(event, sentScope),
    value: (event) => event,
    ...(last && { isLast }),
  }
}

function currentStatus(workspaceId: string, { sequence, revision }: LogSnapshot): StreamedEvent | null {
  return (
    revision && {
      workspaceId,
      sequence,
      type: 'revision.status',
      deploymentId: revision.deploymentId,
      revisionId: revision.id,
      subjectId: null,
      fromStatus: null,
      toStatus: revision.status,
      reason: revision.reason,
      message: revision.message,
      attempt: revision.attempt,
      changed: [],
      actor: null,
      occurredAt: revision.since,
    }
  )
}
