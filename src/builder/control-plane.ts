/**
 * The control plane of a builder over HTTP (docs/protocol.md#builders), as the worker knows it: a claim with one BUILD step,
 * which is over with the report of it. What a builder is not told (what runs, and how) is empty.
 */
import type { Logger } from 'pino'
import { storable } from '../dataplane/output/terminal-text.ts'
import { toWire } from '../domain/parsing/codec.ts'
import {
  type BuilderClaim,
  builderClaim,
  builderClaimRequest,
  builderCompleteAnswer,
  builderCompleteRequest,
  builderHeartbeatAnswer,
  builderHeartbeatRequest,
  builderLogsRequest,
} from '../domain/protocol/builders.ts'
import type { Assignment, Claim, ControlPlane, Step } from '../domain/protocol/protocol.ts'
import { LONGEST } from '../domain/protocol/requests.ts'
import { type Address, type Caller, createCaller, type Worker } from '../listener/call.ts'
import {
  batches,
  ofHeartbeat,
  REFUSED,
  read,
  readClaims,
  sendLines,
  sendRelease,
  sendReport,
  storableProgress,
  wholeSeconds,
} from '../listener/messages.ts'

/** claims in one heartbeat */
const MAX_HEARTBEAT_CLAIMS = 100
/** s; a heartbeat in several requests has to come back for what is new in each */
const SHORT_WAIT_S = 1

const BUILDER: Worker = {
  path: '/v2/builders',
  name: 'builder',
  refusals: {
    planRequired: 'The organization’s plan has no builders.',
    forbidden:
      'The control plane refuses the key for this work: it must be one of role `builder`. See CONTROL_PLANE_API_KEY.',
    notFound: 'The control plane knows no builders: it is of an older version, which has to be updated.',
  },
}

export interface BuilderControlPlane extends ControlPlane {
  /** what else a builder asks for */
  caller: Caller
  /** Ends all connections. */
  close(): void
}

export function builderControlPlane({ log, ...address }: Address & { log: Logger }): BuilderControlPlane {
  const caller = createCaller(address, BUILDER)
  const { call, close } = caller
  return {
    async claim(request, signal) {
      const waitSeconds = wholeSeconds(request.waitSeconds)
      const body = toWire(builderClaimRequest, { ...request, waitSeconds })
      const answer = await call('claims', body, { waitMs: waitSeconds * 1000, signal })
      return readClaims(builderClaim, answer, log).map(toClaim)
    },

    async heartbeat({ leaseSeconds, waitSeconds, claims }, signal) {
      const parts = batches(
        claims.map(({ claimId, token, progress }) => ({ claimId, token, progress: storableProgress(progress) })),
        MAX_HEARTBEAT_CLAIMS,
      )
      const wait = Math.min(wholeSeconds(waitSeconds), parts.length > 1 ? SHORT_WAIT_S : Number.POSITIVE_INFINITY)
      const answers = await Promise.all(
        parts.map(async (part) => {
          const body = toWire(builderHeartbeatRequest, { leaseSeconds, waitSeconds: wait, claims: part })
          return read(builderHeartbeatAnswer, await call('heartbeat', body, ofHeartbeat(leaseSeconds, wait, signal)))
            .claims
        }),
      )
      return answers.flat().map((answer) => ({ ...answer, assignment: null }))
    },

    logs({ claimId, token, entries }) {
      return sendLines(call, log, claimId, entries, (part) => toWire(builderLogsRequest, { token, entries: part }))
    },

    async complete({ claimId, stepId, ...report }) {
      const { token } = report
      const message = report.message && storable(report.message, LONGEST.message)
      const own = toWire(builderCompleteRequest, { ...report, message })
      const instead = toWire(builderCompleteRequest, { ...REFUSED, token })
      const { answer, taken } = await sendReport(call, log, { claimId, stepId }, own, instead)
      return {
        recorded: taken && read(builderCompleteAnswer, answer).recorded,
        assignment: EMPTY_ASSIGNMENT,
        over: true,
      }
    },

    release: (claim) => sendRelease(call, claim),

    // builders share no machine, so none can know that another one is dead
    async releaseHolder() {},
    caller,
    close,
  }
}

const EMPTY_ASSIGNMENT: Assignment = { generation: 0, run: null, step: null, stop: false, keepArtifacts: [] }

function toClaim({
  claimId,
  token,
  leaseSeconds,
  deployment,
  stepId,
  tries,
  secondsLeft,
  revision,
}: BuilderClaim): Claim {
  // nothing of a build depends on what its deployment runs with
  const placed = { spec: {} as Step['spec'], secretReferences: [], customUrl: null }
  return {
    ...EMPTY_ASSIGNMENT,
    claimId,
    token,
    leaseSeconds,
    deployment: { ...deployment, k8sNamespace: null, provisioned: true },
    step: { id: stepId, kind: 'BUILD', tries, secondsLeft, revision, ...placed },
  }
}
