/**
 * The control plane over HTTP (docs/protocol.md): the client side of src/api/rest/v2/claims.ts, without claim state.
 * Retry after ControlPlaneUnreachable; a repeated `logs` may repeat lines, all else is idempotent.
 */
import type { Logger } from 'pino'
import { z } from 'zod'
import { storable } from '../dataplane/output/terminal-text.ts'
import { toWire, wireObject } from '../domain/parsing/codec.ts'
import { assignment, claim as claimMessage, completeAnswer } from '../domain/protocol/answers.ts'
import type { ControlPlane, HeartbeatItem } from '../domain/protocol/protocol.ts'
import { claimRequest, completeRequest, heartbeatRequest, logsRequest, MAX_CHARS } from '../domain/protocol/requests.ts'
import { type Address, createCaller, type Worker } from './call.ts'
import {
  batches,
  fieldsOf,
  heartbeatOptions,
  REFUSED,
  read,
  readClaims,
  sendLines,
  sendRelease,
  sendReport,
  storableProgress,
  UNREADABLE,
  wholeSeconds,
} from './messages.ts'

/** seconds; a heartbeat that is split into several requests must return soon for news in each */
const SPLIT_HEARTBEAT_WAIT_SECONDS = 1

const heartbeatList = wireObject({
  claims: z.array(wireObject({ claimId: z.string(), lost: z.boolean(), assignment: z.unknown() })),
})

export interface RemoteOptions extends Address {
  listenerId: string
  log: Logger
}

export interface RemoteControlPlane extends ControlPlane {
  close(): void
}

export function remoteControlPlane({ log, listenerId, ...address }: RemoteOptions): RemoteControlPlane {
  const { call, close } = createCaller(address, listener(listenerId))
  /** claims whose unreadable assignment was logged */
  const unreadable = new Set<string>()

  const plane: RemoteControlPlane = {
    async claim(request, signal) {
      const waitSeconds = wholeSeconds(request.waitSeconds)
      const body = toWire(claimRequest, { ...request, waitSeconds })
      return readClaims(claimMessage, await call('claims', body, { waitMs: waitSeconds * 1000, signal }), log)
    },

    async heartbeat({ leaseSeconds, claims, ...request }, signal) {
      const waitSeconds = wholeSeconds(request.waitSeconds)
      const parts = batches(claims.map(shortened))
      const wait = parts.length > 1 ? Math.min(waitSeconds, SPLIT_HEARTBEAT_WAIT_SECONDS) : waitSeconds
      const answers = await Promise.all(
        parts.map(async (part) => {
          const body = toWire(heartbeatRequest, { leaseSeconds, waitSeconds: wait, claims: part })
          return read(heartbeatList, await call('heartbeat', body, heartbeatOptions(leaseSeconds, wait, signal))).claims
        }),
      )
      return answers.flat().map((answer) => {
        if (answer.assignment === null) return { ...answer, assignment: null }
        const parsed = assignment.safeParse(answer.assignment)
        // the claim keeps its old assignment, and the other claims keep their leases
        if (!parsed.success && !unreadable.has(answer.claimId)) {
          unreadable.add(answer.claimId)
          log.error({ claimId: answer.claimId, fields: fieldsOf(parsed.error) }, UNREADABLE)
        }
        return { ...answer, assignment: parsed.data ?? null }
      })
    },

    logs({ claimId, entries, ...request }) {
      return sendLines(call, log, claimId, entries, (part) => toWire(logsRequest, { ...request, entries: part }))
    },

    async complete({ claimId, ...report }) {
      const { token, stepId } = report
      const message = report.message && storable(report.message, MAX_CHARS.message)
      const own = toWire(completeRequest, { ...report, message })
      const instead = toWire(completeRequest, { ...REFUSED, token, stepId })
      const { answer, taken } = await sendReport(call, log, { claimId, stepId }, own, instead)
      const { recorded, assignment } = read(completeAnswer, answer)
      return { recorded: taken && recorded, assignment }
    },

    release: (claim) => sendRelease(call, claim),

    // replicas share no machine, so none can detect a dead one
    async releaseHolder() {},
    close,
  }
  return plane
}

const listener = (id: string): Worker => ({
  path: `/v2/listeners/${id}`,
  name: 'listener',
  refusals: {
    planRequired: 'The organization’s plan has no listeners.',
    forbidden: 'The control plane rejects the API key: it must be one of role `listener`. See CONTROL_PLANE_API_KEY.',
    notFound: `With this key there is no listener ${id}: see LISTENER_ID and CONTROL_PLANE_API_KEY.`,
  },
})

/** Shortens texts to the control plane's limits and removes characters that can't be stored. */
const shortened = ({ progress, health, ...item }: HeartbeatItem): HeartbeatItem => ({
  ...item,
  progress: storableProgress(progress),
  health: health && { ...health, message: health.message && storable(health.message, MAX_CHARS.healthMessage) },
})
