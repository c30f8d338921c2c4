/**
 * Calls the control plane over HTTP (docs/protocol.md#builders) for a builder's worker. A claim has one BUILD step and ends with
 * its report. Fields that a builder does not get are empty.
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
import { MAX_CHARS } from '../domain/protocol/requests.ts'
import { type Address, type Caller, createCaller, type Worker } from '../listener/call.ts'
import {
  batches,
  heartbeatOptions,
  REFUSED,
  read,
  readClaims,
  sendLines,
  sendRelease,
  sendReport,
  storableProgress,
  wholeSeconds,
} from '../listener/messages.ts'

const MAX_HEARTBEAT_CLAIMS = 100
/** a heartbeat split into several requests must return soon, so that each can bring new data */
const SHORT_WAIT_S = 1

const BUILDER: Worker = {
  path: '/v2/builders',
  name: 'builder',
  refusals: {
    planRequired: 'The organization’s plan has no builders.',
    forbidden: 'The control plane rejects the API key: set CONTROL_PLANE_API_KEY to a key of role `builder`.',
    notFound: 'The control plane knows no builders: update it to a newer version.',
  },
}

export interface BuilderControlPlane extends ControlPlane {
  caller: Caller
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
          return read(
            builderHeartbeatAnswer,
            await call('heartbeat', body, heartbeatOptions(leaseSeconds, wait, signal)),
          ).claims
        }),
      )
      return answers.flat().map((answer) => ({ ...answer, assignment: null }))
    },

    logs({ claimId, token, entries }) {
      return sendLines(call, log, claimId, entries, (part) => toWire(builderLogsRequest, { token, entries: part }))
    },

    async complete({ claimId, stepId, ...report }) {
      const { token } = report
      const message = report.message && storable(report.message, MAX_CHARS.message)
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

    // builders don't share a machine, so none can detect that another is dead
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
  // a build does not depend on the deployment's runtime settings
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
