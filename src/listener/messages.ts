/** Shared by listener and builder: shortens texts, splits large requests, and reads responses leniently. */
import type { Logger } from 'pino'
import { z } from 'zod'
import { storable } from '../dataplane/output/terminal-text.ts'
import type { HeartbeatItem, LogEntry } from '../domain/protocol/protocol.ts'
import { MAX_ITEMS } from '../domain/protocol/requests.ts'
import { backoff, retry } from '../platform/async/retry.ts'
import type { Caller } from './call.ts'
import { ControlPlaneRefused, ControlPlaneUnreachable } from './errors.ts'

/** characters; the control plane cuts a line at 8 KiB of UTF-8 */
const MAX_LINE_CHARACTERS = 8193
/** The control plane accepts bodies of 1 MiB (docs/api-rules.md#errors), which contain more than the items. */
const MAX_BATCH_BYTES = 960 * 1024
const RELEASE_TRIES = 4
/** HTTP statuses of an invalid request */
const INVALID_REQUEST_STATUSES: readonly (number | null)[] = [413, 422]
/** statuses after which lines are dropped; 404: the revision is gone */
const DROP_LINES_STATUSES: readonly (number | null)[] = [404, ...INVALID_REQUEST_STATUSES]

/** characters that the control plane stores */
const MAX_PROGRESS_CHARACTERS = 2000

export const storableProgress = (progress: HeartbeatItem['progress']) =>
  progress && { ...progress, message: storable(progress.message, MAX_PROGRESS_CHARACTERS) }

/** The protocol uses whole seconds. Rounding down keeps the response close to the requested wait. */
export const wholeSeconds = (seconds = 0) => Math.floor(seconds)

/** Options of a heartbeat call that may wait `wait` seconds, for leases of `leaseSeconds`. */
export const heartbeatOptions = (leaseSeconds: number, wait: number, signal: AbortSignal | undefined) => ({
  waitMs: wait * 1000,
  signal,
  // leaves time for more heartbeats before the leases expire
  keepsLeaseMs: (leaseSeconds * 1000) / 6,
})

/** Splits items in order into batches for one request each. An oversized item is alone in its batch. */
export function batches<T>(items: readonly T[], max = MAX_ITEMS): T[][] {
  const all: T[][] = []
  let room = 0
  for (const item of items) {
    const bytes = Buffer.byteLength(JSON.stringify(item)) + 1
    if (all.length === 0 || bytes > room || all.at(-1)!.length === max) {
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
  throw new ControlPlaneRefused(`The response of the control plane has an unexpected form (${fieldsOf(parsed.error)}).`)
}

// Claims are parsed one by one, so that an unreadable claim of a newer control plane does not block the others.
const claimList = z.object({ claims: z.array(z.unknown()) })

/** Returns the readable claims of a response. Unreadable ones become free when their lease expires. */
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

/** Only the first part of each path: later parts may be names from users. */
export function fieldsOf(error: z.ZodError): string {
  const paths = error.issues.map(({ path }) => path.slice(0, 2).map(String).join('.') || 'body')
  return [...new Set(paths)].slice(0, 3).join(', ')
}

type Call = Caller['call']

/** `body` makes a request from lines. Rejected lines are dropped, because they would block later lines. */
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
      log.warn(
        { claimId, lines: part.length, status: error.status },
        'The control plane rejected log lines, which are dropped',
      )
    }
  }
}

/** Report of a step whose own report was rejected. */
export const REFUSED = {
  outcome: 'failed',
  reason: 'INTERNAL',
  message: 'The control plane rejected the report of this step: the log of its listener or builder has the reason.',
} as const

/** Reports a step's result. `instead`: sent if it is rejected, because a retry would block the step forever. */
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
    log.error(
      { claimId, stepId, reason: error.message },
      'The control plane rejected the report of a step, so the step fails',
    )
    return { answer: await call(path, instead), taken: false }
  }
}

/** Retries a release: the process is about to end, and others would wait for the lease to expire. */
export async function sendRelease(call: Call, { claimId, token }: { claimId: string; token: string }): Promise<void> {
  await retry(() => call(`claims/${claimId}/release`, { token }), {
    tries: RELEASE_TRIES,
    when: (error) => error instanceof ControlPlaneUnreachable,
    pause: (retries) => backoff(retries, 200, 1000),
  })
}
