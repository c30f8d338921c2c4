/**
 * The control plane over HTTP (docs/protocol.md): the other end of src/api/rest/v2/claims.ts. Holds no state of the claims;
 * whoever calls tries again after ControlPlaneUnreachable. `complete`, `release` and `logs` may be repeated: the
 * first two change nothing the second time, log lines whose answer got lost are there twice.
 */
import type { Logger } from 'pino'
import { z } from 'zod'
import { storable } from '../dataplane/output/terminal-text.ts'
import { toWire, wireObject } from '../domain/parsing/codec.ts'
import { assignment, claim as claimMessage, completeAnswer } from '../domain/protocol/answers.ts'
import type { ControlPlane, HeartbeatItem } from '../domain/protocol/protocol.ts'
import { claimRequest, completeRequest, heartbeatRequest, LONGEST, logsRequest } from '../domain/protocol/requests.ts'
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

/** s; a heartbeat in several requests has to come back for what is new in each */
const SPLIT_HEARTBEAT_WAIT_SECONDS = 1

// What is about one deployment is left unread at first, as in claims.
const heartbeatList = wireObject({
  claims: z.array(wireObject({ claimId: z.string(), lost: z.boolean(), assignment: z.unknown() })),
})

export interface RemoteOptions extends Address {
  listenerId: string
  log: Logger
}

export interface RemoteControlPlane extends ControlPlane {
  /** Ends all connections. */
  close(): void
}

export function remoteControlPlane({ log, listenerId, ...address }: RemoteOptions): RemoteControlPlane {
  const { call, close } = createCaller(address, listener(listenerId))
  /** claims that were complained about */
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
        // it keeps what it has, and must not cost the others their leases
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
      const message = report.message && storable(report.message, LONGEST.message)
      const own = toWire(completeRequest, { ...report, message })
      const instead = toWire(completeRequest, { ...REFUSED, token, stepId })
      const { answer, taken } = await sendReport(call, log, { claimId, stepId }, own, instead)
      const { recorded, assignment } = read(completeAnswer, answer)
      return { recorded: taken && recorded, assignment }
    },

    release: (claim) => sendRelease(call, claim),

    // replicas of a listener share no machine, so none can know that another one is dead
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
    forbidden:
      'The control plane refuses the key for this work: it must be one of role `listener`. See CONTROL_PLANE_API_KEY.',
    notFound: `For this key there is no listener ${id}: see LISTENER_ID and CONTROL_PLANE_API_KEY.`,
  },
})

/** No text of it is longer than the control plane takes, or has in it what can't be stored. */
const shortened = ({ progress, health, ...item }: HeartbeatItem): HeartbeatItem => ({
  ...item,
  progress: storableProgress(progress),
  health: health && { ...health, message: health.message && storable(health.message, LONGEST.healthMessage) },
})
