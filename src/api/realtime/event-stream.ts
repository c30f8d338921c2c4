/**
 * The events of the workspace, of a deployment or of a revision as they come (docs/api-rules.md#events-and-streams): none lost, none
 * twice, in order. Behind `after`, or from now on; of a revision its current status first. It completes behind the last event
 * that can come: the end of a revision's attempt, the teardown of a deployment.
 */
import { z } from 'zod'
import { NotFoundError } from '../../domain/errors/errors.ts'
import { readPastCursor, refuseExpired } from '../../domain/events/cursor.ts'
import { eventTypes, expandTypes } from '../../domain/events/page.ts'
import { type EventScope, eventsLeft, inScope, type LogSnapshot, type StoredEvent } from '../../domain/events/read.ts'
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

/** An event of the log; or, without an actor, the status that a revision's stream begins with. */
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

/** The same, and NotFoundError. */
export async function streamDeploymentEvents(ctx: RequestContext, raw: RawInput, relay: Relay): Events {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(ofDeployment, { query: {}, ...raw })
  return begin(ctx, relay, { deploymentId: path.deployment_id }, query)
}

/** The same. */
export async function streamRevisionEvents(ctx: RequestContext, raw: RawInput, relay: Relay): Events {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(ofRevision, { query: {}, ...raw })
  return begin(ctx, relay, { deploymentId: path.deployment_id, revisionId: path.revision_id }, query)
}

/** Of the workspace, or of one deployment (`query.deployment_id`), for GraphQL. */
export async function streamEvents(ctx: RequestContext, raw: RawInput, relay: Relay): Promise<Stream<StoredEvent>> {
  requireRole(ctx, 'viewer')
  const { query } = parse(ofEither, raw)
  const { deployment_id: deploymentId, ...rest } = query
  // without a revision there is no current status in front of it: every one is of the log
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

/** Whether nothing more was to come of it when the snapshot was read. Throws NotFoundError. */
async function isOver(
  { db, workspace }: RequestContext,
  { deploymentId, revisionId }: Subject,
  { gone, deploymentId: deployment, revision }: LogSnapshot,
): Promise<boolean> {
  if (deploymentId === undefined) return false
  const there = revisionId === undefined ? deployment !== null : revision !== null
  if (there) return gone || (revisionId !== undefined && isTerminal(revision!.status))
  // its row is gone, too: events outlive it
  if (await eventsLeft(db, workspace.id, { deploymentId, ...(revisionId && { revisionId }) })) return true
  throw revisionId === undefined
    ? new NotFoundError('Deployment', deploymentId)
    : new NotFoundError('Revision', revisionId)
}

function selection(subject: Subject, types: readonly string[] | undefined): Selection<StoredEvent, StreamedEvent> {
  const { deploymentId, revisionId } = subject
  const wanted: EventScope = { ...subject, ...(types && { types }) }
  const last = revisionId ? 'revision.status' : deploymentId ? 'deployment.torn_down' : null
  const isLast = revisionId
    ? ({ toStatus }: StoredEvent) => toStatus !== null && isTerminal(toStatus)
    : ({ type }: StoredEvent) => type === last
  // what ends it is looked at, whether it is wanted or not
  const scope = types && last ? { ...subject, types: [...new Set([...types, last])] } : wanted
  return {
    key: JSON.stringify(['events', deploymentId, revisionId, types?.toSorted()]),
    scope,
    includes: (event) => inScope(event, scope),
    isSent: (event) => inScope(event, wanted),
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
