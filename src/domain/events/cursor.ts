/**
 * The cursor of an event: its place in one workspace's log, opaque to callers. The stream, its resumption with
 * `after`, and the lists of events all use the same one.
 */
import { z } from 'zod'
import type { RequestContext } from '../context.ts'
import { ValidationError } from '../errors.ts'
import { decodeCursor, encodeCursor } from '../page.ts'

/** of a workspace and a sequence number, which may be too large for a number of JSON */
const PLACE = z.tuple([z.string(), z.string().regex(/^\d{1,18}$/)])

export function eventCursor(event: { workspaceId: string; sequence: bigint }): string {
  return encodeCursor([event.workspaceId, String(event.sequence)])
}

/**
 * The sequence number a cursor stands for. Throws ValidationError (`cursor_invalid`, at `query.<name>`) for what
 * is malformed or of another workspace.
 */
export function readEventCursor(ctx: RequestContext, cursor: string, name: 'after' | 'before'): bigint {
  const [workspaceId, sequence] = decodeCursor(cursor, PLACE, ['query', name])
  if (workspaceId !== ctx.workspace.id) throw invalidCursor(name, "Not a cursor of this workspace's events.")
  return BigInt(sequence)
}

/** The same, and it must not point beyond `end`, the log's last sequence number. */
export function readPastCursor(ctx: RequestContext, cursor: string, name: 'after' | 'before', end: bigint): bigint {
  const sequence = readEventCursor(ctx, cursor, name)
  if (sequence > end)
    throw invalidCursor(
      name,
      'This cursor is ahead of the event log: subscribe without it, or with one the log gave you.',
    )
  return sequence
}

function invalidCursor(name: string, msg: string): ValidationError {
  return new ValidationError([{ loc: ['query', name], msg, type: 'cursor_invalid' }])
}
