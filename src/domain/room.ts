/** What lasts (streams, long polls) takes a place of its workspace and gives it back; when all are taken it is refused. */
import { DomainError } from './errors.ts'

/** Places of each workspace on this server. */
export interface Room {
  /** of one workspace; 0: no limit */
  readonly most: number
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

/** Throws DomainError (RATE_LIMITED) when there is no place left. `what`: in the plural. */
export function takePlace(room: Room | undefined, workspaceId: string, what: string): () => void {
  if (!room) return () => {}
  const leave = room.take(workspaceId)
  if (leave) return leave
  throw new DomainError(
    'RATE_LIMITED',
    `This workspace has all the ${what} that it may have on this server at once (${room.most}). End some of them, or try again later.`,
    { retryAfterSeconds: TRY_AGAIN },
  )
}
