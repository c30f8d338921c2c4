/** How what a stream sends is written as server-sent events: by GraphQL in one way, by REST in another. */
import type { Frame } from '../realtime/frames.ts'

export interface SseFormat<Value = unknown> {
  /** names the form: outlets of one name write the same for the same frame */
  readonly name: string
  /** Lines of one event, with the empty line behind it. */
  frame(frame: Frame<Value>): string
  /** What is written when nothing more is to come; '' for nothing. */
  complete: string
  /** What is written when it ends before its time, with everything up to `cursor` sent. */
  error(error: unknown, cursor?: string): string
}

/** One event; `data` in one line. */
export function sseEvent({ id, event, data }: { id?: string; event?: string; data: string }): string {
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}data: ${data}\n\n`
}
