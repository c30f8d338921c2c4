/** The format of a stream's server-sent events; GraphQL and REST have one each. */
import type { Frame } from '../realtime/frames.ts'

export interface SseFormat {
  /** Names the format: outlets with the same name write the same for a frame. */
  readonly name: string
  /** The lines of one event, with the empty line after it. */
  frame(frame: Frame): string
  /** Written at a clean end; '' for nothing. */
  complete: string
  /** Written at an early end, after everything up to `cursor` was sent. */
  error(error: unknown, cursor?: string): string
}

/** One event; `data` must be one line. */
export function sseEvent({ id, event, data }: { id?: string; event?: string; data: string }): string {
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`
}
