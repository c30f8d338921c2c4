/** How builders get what is to be built, and say what became of it (docs/protocol.md#builders). */
import {
  accessForBuilder,
  BUILDER_CALLS,
  claimForBuilder,
  completeForBuilder,
  heartbeatOfBuilder,
  logsOfBuilder,
  releaseForBuilder,
} from '../../../domain/builders/control-plane.ts'
import { toWire } from '../../../domain/parsing/codec.ts'
import {
  builderAccessAnswer,
  builderClaimAnswer,
  builderCompleteAnswer,
  builderHeartbeatAnswer,
} from '../../../domain/protocol/builders.ts'
import { noContent, type Operation, operation } from '../framework/operation.ts'

const tag = 'Builders'

/** The tag's description in the document. */
export const BUILDERS_GUIDE = `How a builder, a program that makes images on a machine of its own, gets its work. It asks with a key of role \`builder\`, of a
workspace or of the organization, and gets the builds that a server which makes no images itself has left to builders: the source,
the commands, the deployment's secrets for them, and credentials to push to this deployment's repository. Nothing else of the deployment.

A claim is a lease on one build, as those of listeners are on deployments (*Data plane*): extend all of them with one \`heartbeat\` each third or fourth of \`lease_seconds\`, or
more often; count it by a clock of your own, from before the call; send \`token\` with every call. 409 with code \`CLAIM_LOST\`, or \`lost\` in a heartbeat: the build was
interrupted or superseded, is past its deadline, or somebody else may have it: end it, report nothing, never use the claim again. A lease that runs out costs a try, after three the build fails; a release costs
none.`

const CLAIM_LOST = '409 with code `CLAIM_LOST`: the lease is over or the token is old; nothing was changed.'

export const builders: Operation[] = [
  operation({
    method: 'POST',
    path: '/v2/builders/claims',
    operationId: 'claimBuilds',
    summary: 'Lease builds that nobody has',
    description:
      'Each is taken with it. An empty list: there was nothing to build for `wait_seconds`. Keep such a call open while you have a free place: ' +
      'builds are left to builders only where one was heard of in the last 90 seconds. A key of the organization takes no `X-Tenant-Id` here (422): it is for all workspaces.',
    tag,
    input: BUILDER_CALLS.claim.input,
    idempotency: 'not-documented',
    responses: { 200: { description: 'The builds.', schema: builderClaimAnswer.in } },
    errors: [],
    handle: async (ctx, raw) => ({
      status: 200,
      body: toWire(builderClaimAnswer, { claims: await claimForBuilder(ctx, raw) }),
    }),
  }),
  operation({
    method: 'POST',
    path: '/v2/builders/heartbeat',
    operationId: 'heartbeatOfBuilds',
    keepsLease: true,
    summary: 'Extend leases, hear which are lost',
    description:
      'One call for all claims of a builder. Leases are extended as the call begins; with `wait_seconds` it is answered when one of them is lost, ' +
      'at the latest after that time or half of `lease_seconds`. An empty list of claims is a sign of life.',
    tag,
    input: BUILDER_CALLS.heartbeat.input,
    idempotency: 'not-documented',
    responses: { 200: { description: 'Which are lost.', schema: builderHeartbeatAnswer.in } },
    errors: [],
    handle: async (ctx, raw) => ({
      status: 200,
      body: toWire(builderHeartbeatAnswer, { claims: await heartbeatOfBuilder(ctx, raw) }),
    }),
  }),
  operation({
    method: 'POST',
    path: '/v2/builders/claims/{claim_id}/access',
    operationId: 'getBuildAccess',
    summary: 'Get credentials for the source and the registry',
    description: `They are short-lived: ask when the build begins. May be asked again. ${CLAIM_LOST}`,
    tag,
    input: BUILDER_CALLS.access.input,
    idempotency: 'not-documented',
    responses: { 200: { description: 'The credentials, or why there are none.', schema: builderAccessAnswer.in } },
    errors: [409],
    handle: async (ctx, raw) => ({ status: 200, body: toWire(builderAccessAnswer, await accessForBuilder(ctx, raw)) }),
  }),
  operation({
    method: 'POST',
    path: '/v2/builders/claims/{claim_id}/logs',
    operationId: 'appendBuildLogs',
    summary: 'Append lines to the build log',
    description: `Lines are kept in the order sent; each is cut at 8 KiB. The body may have 1 MiB. ${CLAIM_LOST}`,
    tag,
    input: BUILDER_CALLS.logs.input,
    idempotency: 'not-documented',
    ...noContent('They are stored.', logsOfBuilder),
    errors: [409],
  }),
  operation({
    method: 'POST',
    path: '/v2/builders/claims/{claim_id}/complete',
    operationId: 'completeBuild',
    keepsLease: true,
    summary: 'Report how a build ended',
    description:
      'The claim is over with it. `recorded: false`: it had been closed in the meantime (interrupted, superseded, past its deadline), and the outcome changed nothing. ' +
      `What succeeded or failed may be repeated when its answer was lost. ${CLAIM_LOST}`,
    tag,
    input: BUILDER_CALLS.complete.input,
    idempotency: 'not-documented',
    responses: { 200: { description: 'Whether it counts.', schema: builderCompleteAnswer.in } },
    errors: [409],
    handle: async (ctx, raw) => ({
      status: 200,
      body: toWire(builderCompleteAnswer, await completeForBuilder(ctx, raw)),
    }),
  }),
  operation({
    method: 'POST',
    path: '/v2/builders/claims/{claim_id}/release',
    operationId: 'releaseBuild',
    keepsLease: true,
    summary: 'Give a build back',
    description:
      'Another builder can have it at once; it costs no try. Stop all work of the claim first. ' +
      `What a builder does when it ends. ${CLAIM_LOST}`,
    tag,
    input: BUILDER_CALLS.release.input,
    idempotency: 'not-documented',
    ...noContent('It is offered again.', releaseForBuilder),
    errors: [409],
  }),
]
