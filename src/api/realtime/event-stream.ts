/**
 * Streams events of a workspace, a deployment or a revision (docs/api-rules.md#events-and-streams), after a cursor or
 * from now on. A revision's stream begins with its status. It completes after the last possible event: the end of the
 * attempt, or the teardown.
 */
import { z } from 'zod'
import { NotFoundError } from '../../domain/errors/errors.ts'
import { eventTypes, expandTypes } from '../../domain/events/page.ts'
import { readEventCursor, readPastCursor, refuseExpired } from '../../domain/events/range.ts'
import {
  type EventScope,
  hasEvents,
  inScope,
  type LogSnapshot,
  readSnapshot,
  type StoredEvent,
} from '../../domain/events/read.ts'
import { queryText, queryUuid } from '../../domain/parsing/fields.ts'
import { parse, type RawInput } from '../../domain/parsing/parse.ts'
import { requireRole } from '../../domain/transaction/access.ts'
import type { ReadContext } from '../../domain/transaction/context.ts'
import type { EventActor } from '../../domain/values/event-types.ts'
import { isTerminal } from '../../domain/values/lifecycle.ts'
import { deploymentPath, revisionPath } from '../../domain/values/shapes.ts'
import type { Relay } from './relay.ts'
import type { Selection, Stream } from './stream.ts'
import type { Topic } from './topic.ts'

export type Subject = Pick<EventScope, 'deploymentId' | 'revisionId'>

/** An event of the log, or, without an actor, the current status at the start of a stream. */
export type StreamedEvent = Omit<StoredEvent, 'actor'> & { actor: EventActor | null }

const place = { after: queryText, types: eventTypes }
const ofWorkspace = z.object({ query: z.object(place) })
const ofDeployment = z.object({ path: deploymentPath, query: z.object(place) })
const ofRevision = z.object({ path: revisionPath, query: z.object(place) })
const ofEither = z.object({ query: z.object({ ...place, deployment_id: queryUuid }) })

type Events = Promise<Stream<StreamedEvent>>

/** Role: viewer. Throws ValidationError, RATE_LIMITED. */
export async function streamWorkspaceEvents(ctx: ReadContext, raw: RawInput, relay: Relay): Events {
  requireRole(ctx, 'viewer')
  const { query } = parse(ofWorkspace, { query: {}, ...raw })
  return begin(ctx, relay, {}, query)
}

/** Role: viewer. Throws ValidationError, RATE_LIMITED, NotFoundError. */
export async function streamDeploymentEvents(ctx: ReadContext, raw: RawInput, relay: Relay): Events {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(ofDeployment, { query: {}, ...raw })
  return begin(ctx, relay, { deploymentId: path.deployment_id }, query)
}

/** Role: viewer. Throws ValidationError, RATE_LIMITED, NotFoundError. */
export async function streamRevisionEvents(ctx: ReadContext, raw: RawInput, relay: Relay): Events {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(ofRevision, { query: {}, ...raw })
  return begin(ctx, relay, { deploymentId: path.deployment_id, revisionId: path.revision_id }, query)
}

/** For GraphQL: the workspace's events, or one deployment's (`query.deployment_id`). */
export async function streamEvents(ctx: ReadContext, raw: RawInput, relay: Relay): Promise<Stream<StoredEvent>> {
  requireRole(ctx, 'viewer')
  const { query } = parse(ofEither, raw)
  const { deployment_id: deploymentId, ...rest } = query
  // without a revision there is no current status at the start, so every item has an actor
  return begin(ctx, relay, deploymentId === undefined ? {} : { deploymentId }, rest) as Promise<Stream<StoredEvent>>
}

function begin(
  ctx: ReadContext,
  relay: Relay,
  subject: Subject,
  query: { after?: string | undefined; types?: string[] | undefined },
): Events {
  const types = expandTypes(query.types)
  return beginEventStream(ctx, relay, {
    subject,
    after: query.after,
    selection: selection(subject, types),
    isOver: (snapshot) => isOver(ctx, subject, snapshot),
    initial: (status) => (subject.revisionId && inScope(status, { types }) ? status : null),
  })
}

export interface EventStreamOptions<Value> {
  subject: Subject
  /** Cursor of the last received event. */
  after: string | undefined
  selection: Selection<StoredEvent, Value>
  /** Whether no more events were possible when the snapshot was read. Throws NotFoundError. */
  isOver(snapshot: LogSnapshot): boolean | Promise<boolean>
  /** The value that a stream without `after` begins with; null: none. */
  initial(status: StreamedEvent): Value | null
}

/** Throws ValidationError for an invalid cursor, errors of `isOver`, and RATE_LIMITED. */
export function beginEventStream<Value>(
  ctx: ReadContext,
  relay: Relay,
  { subject, after: cursor, selection, isOver, initial }: EventStreamOptions<Value>,
): Promise<Stream<Value>> {
  const { workspace } = ctx
  return relay.events.stream(ctx, workspace.id, async (topic) => {
    const snapshot = await snapshotOf(ctx, relay, topic, subject, cursor)
    const { sequence, removed, revision } = snapshot
    const completesAtKnownEnd = await isOver(snapshot)
    const after = cursor === undefined ? null : readPastCursor(ctx, cursor, sequence)
    if (after !== null) refuseExpired(after, removed)
    return {
      selection,
      position: after ?? sequence,
      snapshot: after === null && revision ? initial(currentStatus(workspace.id, sequence, revision)) : null,
      knownEnd: sequence,
      completesAtKnownEnd,
    }
  })
}

/**
 * Returns the log's end and the state of `subject`, read once for concurrent subscribers. A stream of the whole workspace
 * whose `after` is still in memory needs no statement.
 */
async function snapshotOf(
  ctx: ReadContext,
  relay: Relay,
  topic: Topic<StoredEvent>,
  { deploymentId, revisionId }: Subject,
  after: string | undefined,
): Promise<LogSnapshot> {
  const whole = deploymentId === undefined && revisionId === undefined
  if (whole && after !== undefined && topic.hasRecent(readEventCursor(ctx, after, 'after'))) {
    const absent = { deploymentId: null, tornDown: false, revision: null }
    return { sequence: topic.position!, removed: topic.evictedUpTo, ...absent }
  }
  const key = `${ctx.workspace.id} ${deploymentId ?? ''} ${revisionId ?? ''}`
  return relay.events.state(key, () => readSnapshot(ctx.db, ctx.workspace.id, { deploymentId, revisionId }))
}

function currentStatus(
  workspaceId: string,
  sequence: bigint,
  { id, deploymentId, status, reason, message, attempt, since }: NonNullable<LogSnapshot['revision']>,
): StreamedEvent {
  return {
    workspaceId,
    sequence,
    type: 'revision.status',
    deploymentId,
    revisionId: id,
    subjectId: null,
    fromStatus: null,
    toStatus: status,
    reason,
    message,
    attempt,
    count: null,
    traceId: null,
    changed: [],
    actor: null,
    occurredAt: since,
  }
}

async function isOver(
  { db, workspace }: ReadContext,
  { deploymentId, revisionId }: Subject,
  { tornDown, deploymentId: deployment, revision }: LogSnapshot,
): Promise<boolean> {
  if (deploymentId === undefined) return false
  const there = revisionId === undefined ? deployment !== null : revision !== null
  if (there) return tornDown || (revisionId !== undefined && isTerminal(revision!.status))
  // its row is gone, too, but events outlive it
  if (await hasEvents(db, workspace.id, { deploymentId, revisionId })) return true
  throw revisionId === undefined
    ? new NotFoundError('Deployment', deploymentId)
    : new NotFoundError('Revision', revisionId)
}

function selection(subject: Subject, types: readonly string[] | undefined): Selection<StoredEvent, StreamedEvent> {
  const { deploymentId, revisionId } = subject
  const sentScope: EventScope = { ...subject, types }
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
