/**
 * The control plane over HTTP (contract 7): the other end of src/rest/v2/claims.ts. Holds no state of the claims;
 * whoever calls tries again after ControlPlaneUnreachable. `complete`, `release` and `logs` may be repeated: the
 * first two change nothing the second time, log lines whose answer got lost are there twice.
 */
import type { Logger } from 'pino'
import { z } from 'zod'
import { backoff, sleep } from '../dataplane/backoff.ts'
import { storable } from '../dataplane/storable.ts'
import { assignmentFromWire, claimFromWire } from '../domain/work/from-wire.ts'
import type { ControlPlane, HeartbeatAnswer, LogsRequest } from '../domain/work/protocol.ts'
import { heartbeatItemToWire } from '../domain/work/to-wire.ts'
import {
  assignment,
  type claimBody,
  claim as claimSchema,
  completeAnswer,
  type completeBody,
  type heartbeatBody,
  type logsBody,
} from '../domain/work/wire.ts'
import { batches } from './batches.ts'
import { type Address, createCaller } from './call.ts'
import { ControlPlaneRefused, ControlPlaneUnreachable } from './errors.ts'

/** s; a heartbeat in several requests has to come back for the news of each */
const SHORT_WAIT = 1
/** characters; the control plane cuts a line at 8 KiB of UTF-8, the rest would only be carried around */
const LONGEST_LINE = 8193
/** characters (wire.ts) */
const LONGEST_HEALTH_MESSAGE = 1024
const LONGEST_MESSAGE = 65_536
/** so many are kept */
const LONGEST_PROGRESS = 2000
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
const heartbeatList = z.object({
  claims: z.array(z.object({ claim_id: z.string(), lost: z.boolean(), assignment: z.unknown() })),
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
    async claim({ holder, max, leaseSeconds, version, ...request }, signal) {
      const waitSeconds = wholeSeconds(request.waitSeconds)
      const body: z.input<typeof claimBody> = {
        holder,
        max,
        lease_seconds: leaseSeconds,
        wait_seconds: waitSeconds,
        version,
      }
      const answer = read(claimList, await call('claims', body, { waitMs: waitSeconds * 1000, signal }))
      return answer.claims.flatMap((one) => {
        const parsed = claimSchema.safeParse(one)
        if (parsed.success) return [claimFromWire(parsed.data)]
        // the others have been leased, too. This one is free again when its lease is over
        log.error({ fields: fieldsOf(parsed.error) }, UNREADABLE)
        return []
      })
    },

    async heartbeat({ leaseSeconds, claims, ...request }, signal) {
      const waitSeconds = wholeSeconds(request.waitSeconds)
      const parts = batches(
        claims.map(({ health, progress, ...item }) =>
          heartbeatItemToWire({
            ...item,
            ...(progress === undefined
              ? {}
              : { progress: progress && { ...progress, message: storable(progress.message, LONGEST_PROGRESS) } }),
            ...(health && {
              health: { ...health, message: health.message && storable(health.message, LONGEST_HEALTH_MESSAGE) },
            }),
          }),
        ),
      )
      const wait = parts.length > 1 ? Math.min(waitSeconds, SHORT_WAIT) : waitSeconds
      const answers = await Promise.all(
        parts.map(async (items) => {
          const body: z.input<typeof heartbeatBody> = { lease_seconds: leaseSeconds, wait_seconds: wait, claims: items }
          return read(heartbeatList, await call('heartbeat', body, { waitMs: wait * 1000, signal })).claims
        }),
      )
      return answers.flat().map((one): HeartbeatAnswer => {
        const { claim_id: claimId, lost } = one
        const parsed = assignment.nullable().safeParse(one.assignment)
        // it keeps what it has, and must not cost the others their leases
        if (!parsed.success && !unreadable.has(claimId)) {
          unreadable.add(claimId)
          log.error({ claimId, fields: fieldsOf(parsed.error) }, UNREADABLE)
        }
        return { claimId, lost, assignment: parsed.data ? assignmentFromWire(parsed.data) : null }
      })
    },

    async logs({ claimId, token, revisionId, attempt, entries }) {
      for (const part of batches(entries.map(lineOf))) {
        const body: z.input<typeof logsBody> = { token, revision_id: revisionId, attempt, entries: part }
        try {
          await call(`claims/${claimId}/logs`, body)
        } catch (error) {
          // lines that can't be taken would only keep those after them from being sent
          if (!(error instanceof ControlPlaneRefused) || !NOT_TAKEN.includes(error.status)) throw error
          log.warn({ claimId, lines: part.length, status: error.status }, 'Log lines were refused and are left out')
        }
      }
    },

    async complete({
      claimId,
      token,
      stepId,
      outcome,
      reason,
      message,
      repoCommitSha,
      artifact,
      artifactLost,
      tries,
      ...deployed
    }) {
      const body: z.input<typeof completeBody> = {
        token,
        step_id: stepId,
        outcome,
        reason,
        message: message && storable(message, LONGEST_MESSAGE),
        repo_commit_sha: repoCommitSha,
        artifact,
        artifact_lost: artifactLost,
        tries,
        url: deployed.url,
        image_version: deployed.imageVersion,
      }
      const path = `claims/${claimId}/complete`
      let taken = true
      const answer = await call(path, body).catch((error) => {
        if (!(error instanceof ControlPlaneRefused) || !UNFIT.includes(error.status)) throw error
        // the same report would never be taken, and the step, and all that come after it, would wait for it
        log.error({ claimId, stepId, reason: error.message }, 'The report of a step was refused: the step fails')
        taken = false
        return call(path, { ...REFUSED, token, step_id: stepId })
      })
      const { recorded, assignment } = read(completeAnswer, answer)
      return { recorded: taken && recorded, assignment: assignmentFromWire(assignment) }
    },

    async release({ claimId, token }) {
      for (let tries = 0; ; tries++) {
        try {
          await call(`claims/${claimId}/release`, { token })
          return
        } catch (error) {
          // whoever releases is about to go, and others would wait for the whole lease
          if (!(error instanceof ControlPlaneUnreachable) || tries + 1 === RELEASE_TRIES) throw error
          await sleep(backoff(tries, 200, 1000))
        }
      }
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

const lineOf = ({ type, level, message, time }: LogsRequest['entries'][number]) => ({
  type,
  level,
  message: storable(message, LONGEST_LINE),
  time: time.toISOString(),
})

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
