/** A stream as the answer of a request: it ends with what it tells, with its client, or with the credential of who asked. */
import type { ServerResponse } from 'node:http'
import type { Caller, CredentialWatch } from '../../domain/transaction/credential.ts'
import type { Rendering } from '../realtime/frames.ts'
import type { Stream } from '../realtime/stream.ts'
import type { Heartbeat } from './heartbeat.ts'
import { openSse } from './outlet.ts'
import type { SseFormat } from './sse-format.ts'

/** How an answer is written, and for whom. */
export interface Sending<Value> {
  rendering: Rendering<Value>
  form: SseFormat<Value>
  heartbeat: Heartbeat
  caller: Caller
  /** absent: nobody watches whether credentials hold */
  credentials: CredentialWatch | undefined
}

/** Takes `response` over, also one whose client is gone already. Of the request nothing is kept but its caller. */
export function sendSse<Value>(stream: Stream<Value>, response: ServerResponse, to: Sending<Value>): void {
  const { rendering, form, heartbeat, credentials } = to
  // not all that a context has beside it: the watch keeps it
  const { actor, workspace, credential } = to.caller
  const end = stream.open(rendering, openSse(response, form, heartbeat))
  const stopWatching = credentials?.watch({ actor, workspace, ...(credential && { credential }) }, end)
  if (response.closed) stopWatching?.()
  else if (stopWatching) response.once('close', stopWatching)
}
