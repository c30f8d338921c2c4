/**
 * The control plane over HTTP (docs/protocol.md): the other end of src/api/rest/v2/claims.ts. Holds no state of the claims;
 * whoever calls tries again after ControlPlaneUnreachable. `complete`, `release` and `logs` may be repeated: the
 * first two change nothing the second time, log lines whose answer got lost are there twice.
 */
import type { Logger } from 'pino'
import { z } from 'zod'
import { storable } from '../dataplane/output/text.ts'
import { toWire, wireObject } from '../domain/core/codec.ts'
import { assignment, claim as claimMessage, completeAnswer } from '../domain/protocol/answers.ts'
import type { ControlPlane, HeartbeatItem, LogEntry } from '../domain/protocol/protocol.ts'
import {
  claimRequest,
  completeRequest,
  heartbeatRequest,
  LONGEST,
  logsRequest,
  MOST_ITEMS,
} from '../domain/protocol/requests.ts'
import { backoff, retry } from '../platform/async/retry.ts'
import { type Address, createCaller } from './call.ts'
import { ControlPlaneRefused, ControlPlaneUnreachable } from './errors.ts'

/** s; a heartbeat in several requests has to come back for what is new in each */
const SHORT_WAIT = 1
/** characters; the control plane cuts a line at 8 KiB of UTF-8, the rest would only be carried around */
const LONGEST_LINE = 8193
/** characters; so many are kept */
const LONGEST_PROGRESS = 2000
/** of JSON in UTF-8: the control plane takes bodies of 1 MiB (docs/api-rules.md#errors), with the rest of the body in it */
const MOST_BYTES = 960 * 1024
const RELEASE_TRIES = 4
/** of HTTP: what was sent is at fault */
const UNFIT: readonly (number | null)[] = [413, 422]
/** or the revision is not there any more */
const NOT_TAKEN: readonly (number | null)[] = [404, ...UNFIT]
/** What is reported of a step whose own report was unfit. */
const REFUSED = {
  outcome: 'failed',
  reason: 'INTERNAL',
  message: 'The control plane did not take the report of its listener: the listener’s log has the reason.',
} as const

// What is about one deployment is left unread at first, so that one of which a newer control plane says something
// new does not keep the listener from all others.
const claimList = z.object({ claims: z.array(z.unknown()) })
const heartbeatList = wireObject({
  claims: z.array(wireObject({ claimId: z.string(), lost: z.boolean(), assignment: z.unknown() })),
})

export interface RemoteOptions extends Address {
  log: Logger
}

export interface RemoteControlPlane extends ControlPlane {
  /** Ends all connections. */
  close(): void
}

export function remoteControlPlane({ log, ...address }: RemoteOptions): RemoteControlPlane {
  const { call, close } = createCaller(address)
  /** claims that were complained about */
  const unreadable = new Set<string>()

  const plane: RemoteControlPlane = {
    async claim(request, signal) {
      const waitSeconds = wholeSeconds(request.waitSeconds)
      const body = toWire(claimRequest, { ...request, waitSeconds })
      const answer = read(claimList, await call('claims', body, { waitMs: waitSeconds * 1000, signal }))
      return answer.claims.flatMap((one) => {
        const parsed = claimMessage.safeParse(one)
        if (parsed.success) return [parsed.data]
        // the others have been leased, too. This one is free again when its lease is over
        log.error({ fields: fieldsOf(parsed.error) }, UNREADABLE)
        return []
      })
    },

    async heartbeat({ leaseSeconds, claims, ...request }, signal) {
      const waitSeconds = wholeSeconds(request.waitSeconds)
      const parts = batches(claims.map(shortened))
      const wait = parts.length > 1 ? Math.min(waitSeconds, SHORT_WAIT) : waitSeconds
      const answers = await Promise.all(
        parts.map(async (part) => {
          const body = toWire(heartbeatRequest, { leaseSeconds, waitSeconds: wait, claims: part })
          return read(heartbeatList, await call('heartbeat', body, { waitMs: wait * 1000, signal })).claims
        }),
      )
      return answers.flat().map((answer) => {
        if (answer.assignment === null) return { ...answer, assignment: null }
        const parsed = assignment.safeParse(answer.assignment)
        // it keeps what it has, and must not cost the others their leases
        if (!parsed.success && !unreadable.has(answer.claimId)) {
          unreadable.add(answer.claimId)
          log.error({ claimId: answer.claimId, fields: fieldsOf(parsed.error) }, UNREADABLE)
        }
        return { ...answer, assignment: parsed.data ?? null }
      })
    },

    async logs({ claimId, entries, ...request }) {
      for (const part of batches(entries.map(cut))) {
        try {
          await call(`claims/${claimId}/logs`, toWire(logsRequest, { ...request, entries: part }))
        } catch (error) {
          // lines that can't be taken would only keep those after them from being sent
          if (!(error instanceof ControlPlaneRefused) || !NOT_TAKEN.includes(error.status)) throw error
          log.warn({ claimId, lines: part.length, status: error.status }, 'Log lines were refused and are left out')
        }
      }
    },

    async complete({ claimId, ...report }) {
      const message = report.message && storable(report.message, LONGEST.message)
      const path = `claims/${claimId}/complete`
      let taken = true
      const answer = await call(path, toWire(completeRequest, { ...report, message })).catch((error) => {
        if (!(error instanceof ControlPlaneRefused) || !UNFIT.includes(error.status)) throw error
        // the same report would never be taken, and the step, and all that come after it, would wait for it
        const { token, stepId } = report
        log.error({ claimId, stepId, reason: error.message }, 'The report of a step was refused: the step fails')
        taken = false
        return call(path, toWire(completeRequest, { ...REFUSED, token, stepId }))
      })
      const { recorded, assignment } = read(completeAnswer, answer)
      return { recorded: taken && recorded, assignment }
    },

    async release({ claimId, token }) {
      // whoever releases is about to go, and others would wait for the whole lease
      await retry(() => call(`claims/${claimId}/release`, { token }), {
        tries: RELEASE_TRIES,
        when: (error) => error instanceof ControlPlaneUnreachable,
        pause: (retries) => backoff(retries, 200, 1000),
      })
    },

    // replicas of a listener share no machine, so none can know that another one is dead
    async releaseHolder() {},
    close,
  }
  return plane
}

const UNREADABLE = 'The control plane said something of a deployment that this listener does not understand: update it'

/** HTTP takes whole seconds. Rounded down: who asks does not wait much longer for the answer than it said. */
const wholeSeconds = (seconds = 0) => Math.floor(seconds)

/** No text of it is longer than the control plane takes, or has in it what can't be stored. */
const shortened = ({ progress, health, ...item }: HeartbeatItem): HeartbeatItem => ({
  ...item,
  progress: progress && { ...progress, message: storable(progress.message, LONGEST_PROGRESS) },
  health: health && { ...health, message: health.message && storable(health.message, LONGEST.healthMessage) },
})

const cut = (entry: LogEntry): LogEntry => ({ ...entry, message: storable(entry.message, LONGEST_LINE) })

/** Splits, in order, into lists that are small enough for one request each. An item that is too large alone is alone. */
function batches<T>(items: readonly T[]): T[][] {
  const all: T[][] = []
  let room = 0
  for (const item of items) {
    const bytes = Buffer.byteLength(JSON.stringify(item)) + 1
    if (all.length === 0 || bytes > room || all.at(-1)!.length === MOST_ITEMS) {
      all.push([])
      room = MOST_BYTES
    }
    all.at(-1)!.push(item)
    room -= bytes
  }
  return all
}

function read<S extends z.ZodType>(schema: S, answer: unknown): z.output<S> {
  const parsed = schema.safeParse(answer)
  if (parsed.success) return parsed.data
  throw new ControlPlaneRefused(`The control plane answered something else than expected (${fieldsOf(parsed.error)}).`)
}

/** Only the top of the path: further down it has names that users gave. */
function fieldsOf(error: z.ZodError): string {
  const paths = error.issues.map(({ path }) => path.slice(0, 2).map(String).join('.') || 'body')
  return [...new Set(paths)].slice(0, 3).join(', ')
}
