/** Lists events of a workspace, a deployment or a revision in pages, by keyset, oldest or newest first. */
import { z } from 'zod'
import { queryEnum, queryInt, queryList, queryText, queryTime } from '../parsing/fields.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { requireRole } from '../transaction/access.ts'
import type { RequestContext } from '../transaction/context.ts'
import { ACTOR_KIND_WORDS, DECIDING_KINDS, EVENT_FAMILIES, EVENT_TYPE_WORDS, typesOf } from '../values/event-types.ts'
import { deploymentPath, revisionPath } from '../values/shapes.ts'
import { eventCursor, readRange } from './range.ts'
import type { EventScope, StoredEvent } from './read.ts'

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

/** Filters of lists, besides deployment and revision. */
export const eventFilters = {
  types: eventTypes,
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

type EventFilters = { [K in keyof typeof eventFilters]?: z.output<(typeof eventFilters)[K]> }

/** The scope of these filters, without deployment and revision. */
export const filteredScope = ({ types, actor_kinds: actorKinds, actor, since, until }: EventFilters): EventScope => ({
  types: expandTypes(types),
  actorKinds,
  actor,
  since,
  until,
})

const query = z.object({
  limit: queryInt(1, 100, 20),
  after: queryText.describe('Only events after this cursor, which are later.'),
  before: queryText.describe('Only events before this cursor, which are earlier.'),
  order: queryEnum(['asc', 'desc']).describe('`asc` (the default) returns the oldest events first, `desc` the newest.'),
  ...eventFilters,
})

export const listEventsInput = z.object({ query })
export const listDeploymentEventsInput = z.object({ path: deploymentPath, query })
export const listRevisionEventsInput = z.object({ path: revisionPath, query })

export interface EventPage {
  events: StoredEvent[]
  /** with `asc` for `after`, never null; with `desc` for `before`, null at the start of the log */
  nextCursor: string | null
}

interface PageInput {
  path?: { deployment_id: string; revision_id?: string }
  query: z.output<typeof query>
}

/** One statement. Role: viewer. Throws ValidationError, also for an expired cursor. */
export const listWorkspaceEvents = pagesOf(listEventsInput)

/** Also for a torn-down deployment whose events are kept. Role: viewer. Throws ValidationError, NotFoundError. */
export const listDeploymentEvents = pagesOf(listDeploymentEventsInput)

/** Like listDeploymentEvents(), for one revision. */
export const listRevisionEvents = pagesOf(listRevisionEventsInput)

function pagesOf(input: z.ZodType<PageInput>): (ctx: RequestContext, raw: RawInput) => Promise<EventPage> {
  return async (ctx, raw) => {
    requireRole(ctx, 'viewer')
    const { path, query } = parse(input, { query: {}, ...raw })
    const scope = { ...filteredScope(query), deploymentId: path?.deployment_id, revisionId: path?.revision_id }
    const { limit: take, order } = query
    const { events, hasMore, end } = await readRange(ctx, scope, query, { descending: order === 'desc', take })
    const last = events.at(-1)
    if (order === 'desc') return { events, nextCursor: hasMore ? eventCursor(last!) : null }
    // without more events, continue from the log's end, so the cursor of a rare filter does not expire
    const next = hasMore ? last!.sequence : end
    return { events, nextCursor: eventCursor({ workspaceId: ctx.workspace.id, sequence: next }) }
  }
}
