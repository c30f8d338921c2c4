/** Event cursors: opaque positions in one workspace's log. Streams, resuming with `after`, and lists share them. */
import { z } from 'zod'
import { ValidationError } from '../errors/errors.ts'
import { decodeCursor, encodeCursor } from '../paging/paging.ts'
import type { ReadContext } from '../transaction/context.ts'

/** Workspace and sequence number. Text, because the number may exceed JSON's integers. */
const POSITION = z.tuple([z.string(), z.string().regex(/^\d{1,18}$/)])

export function eventCursor(event: { workspaceId: string; sequence: bigint }): string {
  return encodeCursor([event.workspaceId, String(event.sequence)])
}

/** Throws ValidationError (`cursor_invalid`, at `query.<name>`) for a malformed cursor or one of another workspace. */
export function readEventCursor(ctx: ReadContext, cursor: string, name: 'after' | 'before'): bigint {
  const [workspaceId, sequence] = decodeCursor(cursor, POSITION, ['query', name])
  if (workspaceId !== ctx.workspace.id) throw invalidCursor(name, "Not a cursor of this workspace's events.")
  return BigInt(sequence)
}

/** The sequence number of `query.after`, which must not be greater than `end`, the log's last one. */
export function readPastCursor(ctx: ReadContext, cursor: string, end: bigint): bigint {
  const sequence = readEventCursor(ctx, cursor, 'after')
  refuseAhead(sequence, 'after', end)
  return sequence
}

/** Throws ValidationError (`cursor_invalid`) if `sequence` is greater than `end`, the log's last number. */
export function refuseAhead(sequence: bigint, name: 'after' | 'before', end: bigint): void {
  if (sequence > end)
    throw invalidCursor(name, 'This cursor is ahead of the event log: go on without it, or with one the log gave you.')
}

/** Throws ValidationError (`cursor_expired`) if events after `sequence` were removed, the last one at `removed`. */
export function refuseExpired(sequence: bigint, removed: bigint, name: 'after' | 'before' = 'after'): void {
  if (sequence >= removed) return
  const msg =
    'Events after this cursor were removed, since they were too old. Read the current state, then go on without a cursor, or with a newer one.'
  throw new ValidationError([{ loc: ['query', name], msg, type: 'cursor_expired' }])
}

function invalidCursor(name: string, msg: string): ValidationError {
  return new ValidationError([{ loc: ['query', name], msg, type: 'cursor_invalid' }])
}
