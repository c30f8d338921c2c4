/** Lists events of a workspace, a deployment or a revision in pages, by keyset, oldest or newest first. */
import { z } from 'zod'
import { NotFoundError } from '../errors/errors.ts'
import type { Window } from '../paging/paging.ts'
import { queryEnum, queryInt, queryList, queryText, queryTime } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import {
  ACTOR_KIND_WORDS,
  type ActorKind,
  DECIDING_KINDS,
  EVENT_FAMILIES,
  EVENT_TYPE_WORDS,
  typesOf,
} from '../values/event-types.ts'
import { deploymentPath, revisionPath } from '../values/shapes.ts'
import { eventCursor, readEventCursor, refuseAhead, refuseExpired } from './cursor.ts'
import { readRange } from './range.ts'
import type { EventScope } from './read.ts'
import type { StoredEvent } from './row.ts'

/** Words of EVENT_TYPES, or `deployment.*` for all of a resource. */
export const eventTypes = queryList(
  z.string().refine((word) => typesOf(word) !== null, {
    error: `Must be one of: ${[...EVENT_TYPE_WORDS, ...EVENT_FAMILIES].join(', ')}.`,
    params: { type: 'enum' },
  }),
  `Only events of any of these types. \`${EVENT_FAMILIES[1]}\` stands for all types of a resource. The types are: ${EVENT_TYPE_WORDS.join(', ')}.`,
)

/** The event types that the words stand for; undefined: all. */
export const expandTypes = (words: readonly string[] | undefined): readonly string[] | undefined =>
  words && [...new Set(words.flatMap((word) => typesOf(word) ?? []))]

export const eventFilters = {
  actor_kinds: queryList(
    z.enum(ACTOR_KIND_WORDS),
    `Only events by actors of any of these kinds: ${ACTOR_KIND_WORDS.join(', ')}. \`${DECIDING_KINDS.join(',')}\` selects everything that was not done by a worker, a listener or the system.`,
  ),
  actor: queryText.describe(
    'Only events by the actor with this id: the id of a key or a listener, or the `sub` of a person.',
  ),
  since: queryTime.describe('Only events at this time or later.'),
  until: queryTime.describe('Only events before this time.'),
}

export interface EventFilters {
  types?: readonly string[] | undefined
  actor_kinds?: readonly ActorKind[] | undefined
  actor?: string | undefined
  since?: Date | undefined
  until?: Date | undefined
}

/** The scope of these filters, without deployment and revision. */
export function filteredScope({ types, actor_kinds: actorKinds, actor, since, until }: EventFilters): EventScope {
  const expanded = expandTypes(types)
  return {
    ...(expanded && { types: expanded }),
    ...(actorKinds && { actorKinds }),
    ...(actor !== undefined && { actor }),
    ...(since && { since }),
    ...(until && { until }),
  }
}

const pageQuery = z.object({
  limit: queryInt(1, 100, 20),
  after: queryText.describe('Only events after this cursor, which are later.'),
  before: queryText.describe('Only events before this cursor, which are earlier.'),
  order: queryEnum(['asc', 'desc']).describe('`asc` (the default) returns the oldest events first, `desc` the newest.'),
  types: eventTypes,
  ...eventFilters,
})

export const listEventsInput = z.object({ query: pageQuery })
export const listDeploymentEventsInput = z.object({ path: deploymentPath, query: pageQuery })
export const listRevisionEventsInput = z.object({ path: revisionPath, query: pageQuery })

export interface EventPage {
  events: StoredEvent[]
  /** with `asc` for `after`, never null; with `desc` for `before`, null at the start of the log */
  nextCursor: string | null
}

/** One statement. Role: viewer. Throws ValidationError, also for an expired cursor. */
export async function listWorkspaceEvents(ctx: RequestContext, raw: RawInput): Promise<EventPage> {
  requireRole(ctx, 'viewer')
  const { query } = parse(listEventsInput, { query: {}, ...raw })
  return readPage(ctx, query, {})
}

/** Also for a torn-down deployment whose events are kept. Role: viewer. Throws ValidationError, NotFoundError. */
export async function listDeploymentEvents(ctx: RequestContext, raw: RawInput): Promise<EventPage> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(listDeploymentEventsInput, { query: {}, ...raw })
  return readPage(ctx, query, { deploymentId: path.deployment_id })
}

/** Like listDeploymentEvents(), for one revision. */
export async function listRevisionEvents(ctx: RequestContext, raw: RawInput): Promise<EventPage> {
  requireRole(ctx, 'viewer')
  const { path, query } = parse(listRevisionEventsInput, { query: {}, ...raw })
  return readPage(ctx, query, { deploymentId: path.deployment_id, revisionId: path.revision_id })
}

async function readPage(
  ctx: RequestContext,
  query: z.output<typeof pageQuery>,
  subject: Omit<EventScope, 'types'>,
): Promise<EventPage> {
  const { limit, order = 'asc' } = query
  const scope: EventScope = { ...subject, ...filteredScope(query) }
  const cursors = { after: query.after, before: query.before }
  const { events, hasMore, end } = await eventRange(ctx, scope, cursors, { descending: order === 'desc', take: limit })
  const workspaceId = ctx.workspace.id
  const last = events.at(-1)
  if (order === 'desc') return { events, nextCursor: hasMore ? eventCursor(last!) : null }
  // without more events, continue from the log's end, so the cursor of a rare filter does not expire
  const next = hasMore ? last!.sequence : end
  return { events, nextCursor: eventCursor({ workspaceId, sequence: next }) }
}

export interface EventRange {
  /** in the requested order */
  events: StoredEvent[]
  hasMore: boolean
  /** how far the log was read: its last sequence number, or the one before `before` */
  end: bigint
}

/** The cursors' names in errors. */
const NAMES: Record<'after' | 'before', 'after' | 'before'> = { after: 'after', before: 'before' }

/** Reads the log between two cursors, from either end. One statement. Throws ValidationError, NotFoundError. */
export async function eventRange(
  ctx: RequestContext,
  scope: EventScope,
  cursors: Pick<Window, 'after' | 'before'>,
  { descending, take, names = NAMES }: { descending: boolean; take: number; names?: typeof NAMES },
): Promise<EventRange> {
  const place = (name: 'after' | 'before') => (cursors[name] ? readEventCursor(ctx, cursors[name], names[name]) : null)
  const [after, before] = [place('after'), place('before')]
  const found = await readRange(ctx.db, ctx.workspace.id, scope, { after, before, descending, limit: take + 1 })
  if (scope.deploymentId !== undefined && !found.deploymentThere)
    throw new NotFoundError('Deployment', scope.deploymentId)
  if (scope.revisionId !== undefined && !found.revisionThere) throw new NotFoundError('Revision', scope.revisionId)
  if (after !== null) {
    refuseAhead(after, names.after, found.sequence)
    refuseExpired(after, found.removed, names.after)
  }
  if (before !== null) refuseAhead(before, names.before, found.sequence)
  return {
    events: found.events.slice(0, take),
    hasMore: found.events.length > take,
    end: before === null ? found.sequence : before - 1n,
  }
}
