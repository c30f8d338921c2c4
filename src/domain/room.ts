/** What lasts (streams, long polls) takes a place of its workspace and gives it back; when all are taken it is refused. */
import type { RequestContext } from './context.ts'
import { DomainError } from './errors.ts'

/** Places of each workspace on this server. */
export interface Room {
  /** of one workspace; 0: no limit */
  readonly most: number
  /** how many are taken now, by all workspaces */
  readonly taken: number
  /** Answers how to give the place back (more than once does no harm), or null when there is none left. */
  take(workspaceId: string): (() => void) | null
}

export interface Rooms {
  streams: Room
  waits: Room
  /** those of listeners, counted apart: no person's key can keep them from waiting */
  listenerWaits: Room
}

/** Seconds until another try is worth it: places come free one by one. */
const TRY_AGAIN = 5

const NAMES: Record<keyof Rooms, string> = {
  streams: 'streams',
  waits: 'waits',
  listenerWaits: 'waits of listeners',
}

/** For a call that begins to wait; null: there is no place left. Either way it works no more. */
export function findPlace(ctx: RequestContext, kind: keyof Rooms): (() => void) | null {
  ctx.rest?.()
  return ctx.rooms ? ctx.rooms[kind].take(ctx.workspace.id) : () => {}
}

/** The same; throws DomainError (RATE_LIMITED) when there is none. */
export function takePlace(ctx: RequestContext, kind: keyof Rooms): () => void {
  const leave = findPlace(ctx, kind)
  if (leave) return leave
  throw new DomainError(
    'RATE_LIMITED',
    `This workspace has all the ${NAMES[kind]} that it may have on this server at once (${ctx.rooms?.[kind].most}). End some of them, or try again later.`,
    { retryAfterSeconds: TRY_AGAIN },
  )
}
