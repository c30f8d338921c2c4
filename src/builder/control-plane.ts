/**
 * A builder's messages to the control plane (docs/protocol.md#builders). A claim has one BUILD step and ends with its report.
 * Fields that a builder does not get are empty.
 */
import type { Logger } from 'pino'
import {
  type BuilderClaim,
  builderClaim,
  builderClaimRequest,
  builderCompleteAnswer,
  builderCompleteRequest,
  builderHeartbeatRequest,
  builderLogsRequest,
} from '../domain/protocol/builders.ts'
import type { Assignment, Claim, Step } from '../domain/protocol/protocol.ts'
import type { Address } from '../listener/call.ts'
import { connectControlPlane, type Protocol, type RemoteControlPlane } from '../listener/control-plane.ts'

export const builderControlPlane = (options: Address & { log: Logger }): RemoteControlPlane =>
  connectControlPlane(options, BUILDER)

const EMPTY_ASSIGNMENT: Assignment = { generation: 0, run: null, step: null, stop: false, keepArtifacts: [] }

const BUILDER: Protocol = {
  worker: {
    path: '/v2/builders',
    name: 'builder',
    refusals: {
      planRequired: 'The organization’s plan has no builders.',
      forbidden: 'The control plane rejects the API key: set CONTROL_PLANE_API_KEY to a key of role `builder`.',
      notFound: 'The control plane knows no builders: update it to a newer version.',
    },
  },
  requests: {
    claim: builderClaimRequest,
    heartbeat: builderHeartbeatRequest,
    logs: builderLogsRequest,
    complete: builderCompleteRequest,
  },
  claim: builderClaim.transform(toClaim),
  completed: builderCompleteAnswer.transform(({ recorded }) => ({
    recorded,
    assignment: EMPTY_ASSIGNMENT,
    over: true,
  })),
  heartbeatClaims: 100,
}

function toClaim({ stepId, tries, secondsLeft, revision, deployment, traceparent, ...claim }: BuilderClaim): Claim {
  // a build does not depend on the deployment's runtime settings
  const placed = { spec: {} as Step['spec'], secretReferences: [], customUrl: null }
  return {
    ...EMPTY_ASSIGNMENT,
    ...claim,
    deployment: { ...deployment, addressName: null, k8sNamespace: null, provisioned: true },
    step: { id: stepId, kind: 'BUILD', tries, secondsLeft, revision, ...placed, ...(traceparent && { traceparent }) },
  }
}
