/**
 * What listeners and builders have in common in what they say and hear: texts that the control plane takes, requests of the
 * size that it takes, and answers of which only what is understood is read.
 */
import type { Logger } from 'pino'
import { z } from 'zod'
import { storable } from '../dataplane/output/terminal-text.ts'
import type { HeartbeatItem, LogEntry } from '../domain/protocol/protocol.ts'
import { MOST_ITEMS } from '../domain/protocol/requests.ts'
import { backoff, retry } from '../platform/async/retry.ts'
import type { Caller } from './call.ts'
import { ControlPlaneRefused, ControlPlaneUnreachable } from './errors.ts'

/** characters; the control plane cuts a line at 8 KiB of UTF-8, the rest would only be carried around */
const MAX_LINE_CHARACTERS = 8193
/** of JSON in UTF-8: the control plane takes bodies of 1 MiB (docs/api-rules.md#errors), with the rest of the body in it */
const MAX_BATCH_BYTES = 960 * 1024
const RELEASE_TRIES = 4
/** of HTTP: what was sent is at fault */
const INVALID_REQUEST_STATUSES: readonly (number | null)[] = [413, 422]
/** or the revision is not there any more */
const DROP_LINES_STATUSES: readonly (number | null)[] = [404, ...INVALID_REQUEST_STATUSES]

/** characters; so many are kept */
const MAX_PROGRESS_CHARACTERS = 2000

/** As the control plane takes it. */
export const storableProgress = (progress: HeartbeatItem['progress']) =>
  progress && { ...progress, message: storable(progress.message, MAX_PROGRESS_CHARACTERS) }

/** HTTP takes whole seconds. Rounded down: who asks does not wait much longer for the answer than it said. */
export const wholeSeconds = (seconds = 0) => Math.floor(seconds)

/** How a heartbeat is called: one that may wait `wait` seconds, of leases of `leaseSeconds`. */
export const heartbeatOptions = (leaseSeconds: number, wait: number, signal: AbortSignal | undefined) => ({
  waitMs: wait * 1000,
  signal,
  // then there is time for some more before the leases end
  keepsLeaseMs: (leaseSeconds * 1000) / 6,
})

/** Splits, in order, into lists that are small enough for one request each. An item that is too large alone is alone. */
export function batches<T>(items: readonly T[], most = MOST_ITEMS): T[][] {
  const all: T[][] = []
  let room = 0
  for (const item of items) {
    const bytes = Buffer.byteLength(JSON.stringify(item)) + 1
    if (all.length === 0 || bytes > room || all.at(-1)!.length === most) {
      all.push([])
      room = MAX_BATCH_BYTES
    }
    all.at(-1)!.push(item)
    room -= bytes
  }
  return all
}

export function read<S extends z.ZodType>(schema: S, answer: unknown): z.output<S> {
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  throw new ControlPlaneRefused(`The control plane answered something else than expected (${fieldsOf(parsed.error)}).`)
}

// What is about one deployment is left unread at first, so that one of which a newer control plane says something
// new does not keep the listener from all others.
const claimList = z.object({ claims: z.array(z.unknown()) })

/** Those of the claims in an answer that are understood. The others were leased, too: they are free again when their lease is over. */
export function readClaims<S extends z.ZodType>(schema: S, answer: unknown, log: Logger): z.output<S>[] {
  return read(claimList, answer).claims.flatMap((one) => {
    const parsed = schema.safeParse(one)
    if (parsed.success) return [parsed.data]
    log.error({ fields: fieldsOf(parsed.error) }, UNREADABLE)
    return []
  })
}

export const UNREADABLE =
  'The control plane said something of a deployment that is not understood here: update this program'

/** Only the top of the path: further down it has names that users gave. */
export function fieldsOf(error: z.ZodError): string {
  const paths = error.issues.map(({ path }) => path.slice(0, 2).map(String).join('.') || 'body')
  return [...new Set(paths)].slice(0, 3).join(', ')
}

type Call = Caller['call']

/** `body`: of a request with these lines. Lines that can't be taken are left out: they would only keep those after them from being sent. */
export async function sendLines(
  call: Call,
  log: Logger,
  claimId: string,
  entries: readonly LogEntry[],
  body: (entries: LogEntry[]) => object,
): Promise<void> {
  const cut = (entry: LogEntry): LogEntry => ({ ...entry, message: storable(entry.message, MAX_LINE_CHARACTERS) })
  for (const part of batches(entries.map(cut))) {
    try {
      await call(`claims/${claimId}/logs`, body(part))
    } catch (error) {
      if (!(error instanceof ControlPlaneRefused) || !DROP_LINES_STATUSES.includes(error.status)) throw error
      log.warn({ claimId, lines: part.length, status: error.status }, 'Log lines were refused and are left out')
    }
  }
}

/** What is reported of a step whose own report was unfit. */
export const REFUSED = {
  outcome: 'failed',
  reason: 'INTERNAL',
  message: 'The control plane did not take the report of this step: the log of who sent it has the reason.',
} as const

/**
 * Reports how a step ended. `instead`: what is sent when the control plane does not take the report itself: the same one
 * would never be taken, and the step, and all that come after it, would wait for it. `taken`: it took the report itself.
 */
export async function sendReport(
  call: Call,
  log: Logger,
  { claimId, stepId }: { claimId: string; stepId: string },
  report: object,
  instead: object,
): Promise<{ answer: unknown; taken: boolean }> {
  const path = `claims/${claimId}/complete`
  try {
    return { answer: await call(path, report), taken: true }
  } catch (error) {
    if (!(error instanceof ControlPlaneRefused) || !INVALID_REQUEST_STATUSES.includes(error.status)) throw error
    log.error({ claimId, stepId, reason: error.message }, 'The report of a step was refused: the step fails')
    return { answer: await call(path, instead), taken: false }
  }
}

/** Whoever releases is about to go, and others would wait for the whole lease: so it is tried again. */
export async function sendRelease(call: Call, { claimId, token }: { claimId: string; token: string }): Promise<void> {
  await retry(() => call(`claims/${claimId}/release`, { token }), {
    tries: RELEASE_TRIES,
    when: (error) => error instanceof ControlPlaneUnreachable,
    pause: (retries) => backoff(retries, 200, 1000),
  })
}
