/**
 * The control plane over HTTP (docs/protocol.md), for listeners and builders, without claim state.
 * Retry after ControlPlaneUnreachable; a repeated `logs` may repeat lines, all else is idempotent.
 */
import type { Logger } from 'pino'
import { z } from 'zod'
import { storable } from '../dataplane/output/terminal-text.ts'
import { toWire, wireObject } from '../domain/parsing/codec.ts'
import { assignment, claim, completeAnswer } from '../domain/protocol/answers.ts'
import type { Claim, ControlPlane, HeartbeatItem, MetricsRequest } from '../domain/protocol/protocol.ts'
import {
  claimRequest,
  completeRequest,
  heartbeatRequest,
  logsRequest,
  MAX_CHARS,
  MAX_ITEMS,
  metricsRequest,
} from '../domain/protocol/requests.ts'
import { backoff, retry } from '../platform/async/retry.ts'
import {
  type Address,
  type Caller,
  ControlPlaneRefused,
  ControlPlaneUnreachable,
  createCaller,
  type Worker,
} from './call.ts'

/** seconds; a heartbeat that is split into several requests must return soon for news in each */
const SPLIT_HEARTBEAT_WAIT_SECONDS = 1
/** characters; the control plane cuts a line at 8 KiB of UTF-8 */
const MAX_LINE_CHARACTERS = 8193
/** characters that the control plane stores */
const MAX_PROGRESS_CHARACTERS = 2000
/** The control plane accepts bodies of 1 MiB (docs/api-rules.md#errors), which contain more than the items. */
const MAX_BATCH_BYTES = 960 * 1024
const RELEASE_TRIES = 4
/** HTTP statuses of an invalid request */
const INVALID_REQUEST_STATUSES: readonly (number | null)[] = [413, 422]
/** statuses after which lines are dropped; 404: the revision is gone */
const DROP_LINES_STATUSES: readonly (number | null)[] = [404, ...INVALID_REQUEST_STATUSES]
const UNREADABLE = 'The control plane said something of a deployment that is not understood here: update this program'
/** Report of a step whose own report was rejected. */
const REFUSED = {
  outcome: 'failed',
  reason: 'INTERNAL',
  message: 'The control plane rejected the report of this step: the log of its listener or builder has the reason.',
} as const

type Codec = Parameters<typeof toWire>[0]

/** Messages of one kind of worker. Requests contain only the fields of their codec. */
export interface Protocol {
  worker: Worker
  requests: Record<'claim' | 'heartbeat' | 'logs' | 'complete', Codec>
  /** absent: this kind of worker measures nothing */
  metrics?: Codec
  claim: z.ZodType<Claim>
  completed: z.ZodType<Awaited<ReturnType<ControlPlane['complete']>>>
  /** maximum claims of one heartbeat request */
  heartbeatClaims: number
}

export interface RemoteControlPlane extends ControlPlane {
  caller: Caller
  close(): void
}

/** A listener's control plane. */
export function remoteControlPlane({
  listenerId,
  ...options
}: Address & { listenerId: string; log: Logger }): RemoteControlPlane {
  return connectControlPlane(options, {
    worker: {
      path: `/v2/listeners/${listenerId}`,
      name: 'listener',
      refusals: {
        planRequired: 'The organization’s plan has no listeners.',
        forbidden:
          'The control plane rejects the API key: it must be one of role `listener`. See CONTROL_PLANE_API_KEY.',
        notFound: `With this key there is no listener ${listenerId}: see LISTENER_ID and CONTROL_PLANE_API_KEY.`,
      },
    },
    requests: { claim: claimRequest, heartbeat: heartbeatRequest, logs: logsRequest, complete: completeRequest },
    metrics: metricsRequest,
    claim,
    completed: completeAnswer,
    heartbeatClaims: MAX_ITEMS,
  })
}

// Claims and assignments are parsed one by one, so that an unreadable one of a newer control plane does not block the others.
const claimList = z.object({ claims: z.array(z.unknown()) })
const heartbeatList = wireObject({
  claims: z.array(wireObject({ claimId: z.string(), lost: z.boolean(), assignment: z.unknown().optional() })),
})

export function connectControlPlane(
  { log, ...address }: Address & { log: Logger },
  { worker, requests, metrics, claim, completed, heartbeatClaims }: Protocol,
): RemoteControlPlane {
  const caller = createCaller(address, worker)
  const { call, close } = caller
  const wire = (codec: Codec, request: object) => toWire(codec, request) as object
  /** claims whose unreadable assignment was logged */
  const unreadable = new Set<string>()

  function readAssignment(claimId: string, sent: unknown) {
    if (sent === null || sent === undefined) return null
    const parsed = assignment.safeParse(sent)
    // the claim keeps its old assignment, and the other claims keep their leases
    if (!parsed.success && !unreadable.has(claimId)) {
      unreadable.add(claimId)
      log.error({ claimId, fields: fieldsOf(parsed.error) }, UNREADABLE)
    }
    return parsed.data ?? null
  }

  return {
    async claim(request, signal) {
      const waitSeconds = Math.floor(request.waitSeconds ?? 0)
      const body = wire(requests.claim, { ...request, waitSeconds })
      const answer = read(claimList, await call('claims', body, { waitMs: waitSeconds * 1000, signal }))
      // unreadable claims become free when their lease expires
      return answer.claims.flatMap((one) => {
        const parsed = claim.safeParse(one)
        if (!parsed.success) log.error({ fields: fieldsOf(parsed.error) }, UNREADABLE)
        return parsed.success ? [parsed.data] : []
      })
    },
    async heartbeat({ leaseSeconds, claims, waitSeconds = 0 }, signal) {
      const parts = batches(claims.map(shortened), heartbeatClaims)
      // the protocol uses whole seconds; rounding down keeps the response close to the requested wait
      const wait = Math.min(Math.floor(waitSeconds), parts.length > 1 ? SPLIT_HEARTBEAT_WAIT_SECONDS : Infinity)
      const options = {
        waitMs: wait * 1000,
        signal,
        // leaves time for more heartbeats before the leases expire
        keepsLeaseMs: (leaseSeconds * 1000) / 6,
      }
      const answers = await Promise.all(
        parts.map(async (part) => {
          const body = wire(requests.heartbeat, { leaseSeconds, waitSeconds: wait, claims: part })
          return read(heartbeatList, await call('heartbeat', body, options)).claims
        }),
      )
      return answers
        .flat()
        .map((answer) => ({ ...answer, assignment: readAssignment(answer.claimId, answer.assignment) }))
    },
    async logs({ claimId, entries, ...request }) {
      const cut = entries.map((entry) => ({ ...entry, message: storable(entry.message, MAX_LINE_CHARACTERS) }))
      for (const part of batches(cut)) {
        try {
          await call(`claims/${claimId}/logs`, wire(requests.logs, { ...request, entries: part }))
        } catch (error) {
          // rejected lines would block later lines
          if (!isRefusal(error, DROP_LINES_STATUSES)) throw error
          log.warn(
            { claimId, lines: part.length, status: error.status },
            'The control plane rejected log lines, which are dropped',
          )
        }
      }
    },
    ...(metrics && {
      async metrics({ processNumber, samples }: MetricsRequest) {
        for (const part of batches(samples)) {
          try {
            await call('metrics', wire(metrics, { processNumber, samples: part }))
          } catch (error) {
            // a control plane of an earlier version
            if (!isRefusal(error, [404])) throw error
          }
        }
      },
    }),
    async complete({ claimId, ...report }) {
      const { token, stepId } = report
      const message = report.message && storable(report.message, MAX_CHARS.message)
      const send = async (body: object) =>
        read(completed, await call(`claims/${claimId}/complete`, wire(requests.complete, body)))
      try {
        return await send({ ...report, message })
      } catch (error) {
        if (!isRefusal(error, INVALID_REQUEST_STATUSES)) throw error
        log.error(
          { claimId, stepId, reason: error.message },
          'The control plane rejected the report of a step, so the step fails',
        )
        // a retry of the same report would block the step forever
        return { ...(await send({ ...REFUSED, token, stepId })), recorded: false }
      }
    },
    // retried: the process is about to end, and others would wait for the lease to expire
    release: ({ claimId, token }) =>
      retry(
        async () => {
          await call(`claims/${claimId}/release`, { token })
        },
        {
          tries: RELEASE_TRIES,
          when: (error) => error instanceof ControlPlaneUnreachable,
          pause: (retries) => backoff(retries, 200, 1000),
        },
      ),
    // replicas and builders share no machine, so none can detect a dead one
    async releaseHolder() {},
    caller,
    close,
  }
}

function isRefusal(error: unknown, statuses: readonly (number | null)[]): error is ControlPlaneRefused {
  return error instanceof ControlPlaneRefused && statuses.includes(error.status)
}

/** Shortens texts to the control plane's limits and removes characters that can't be stored. */
const shortened = ({ progress, health, ...item }: HeartbeatItem): HeartbeatItem => ({
  ...item,
  progress: progress && { ...progress, message: storable(progress.message, MAX_PROGRESS_CHARACTERS) },
  health: health && { ...health, message: health.message && storable(health.message, MAX_CHARS.healthMessage) },
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

/** Only the first part of each path: later parts may be names from users. */
function fieldsOf(error: z.ZodError): string {
  const paths = error.issues.map(({ path }) => path.slice(0, 2).map(String).join('.') || 'body')
  return [...new Set(paths)].slice(0, 3).join(', ')
}
