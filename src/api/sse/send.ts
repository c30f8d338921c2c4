/** Answers a request with a stream. It ends by itself, with its client, or with the caller's credential. */
import type { ServerResponse } from 'node:http'
import type { Caller, CredentialWatch } from '../../domain/transaction/access.ts'
import type { Rendering } from '../realtime/frames.ts'
import type { Stream } from '../realtime/stream.ts'
import type { Heartbeat } from './heartbeat.ts'
import { openSse } from './outlet.ts'
import type { SseFormat } from './sse-format.ts'

/** The form of the answer, and its caller. */
export interface Sending {
  rendering: Rendering
  form: SseFormat
  heartbeat: Heartbeat
  caller: Caller
  /** Absent: credentials aren't watched. */
  credentials: CredentialWatch | undefined
}

/** Takes `response` over, even if its client is gone. Of the request it only keeps the caller. */
export function sendSse(stream: Stream, response: ServerResponse, to: Sending): void {
  const { rendering, form, heartbeat, credentials } = to
  // copies only these, because the watch keeps the object
  const { actor, workspace, credential } = to.caller
  const end = stream.open(rendering, openSse(response, form, heartbeat))
  const stopWatching = credentials?.watch({ actor, workspace, ...(credential && { credential }) }, end)
  if (response.closed) stopWatching?.()
  else if (stopWatching) response.once('close', stopWatching)
}
