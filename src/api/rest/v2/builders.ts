/** Operations of builders: claim builds and report them (docs/protocol.md#builders). */

import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import {
  accessForBuilder,
  BUILDER_CALLS,
  claimForBuilder,
  completeForBuilder,
  heartbeatOfBuilder,
  logsOfBuilder,
  releaseForBuilder,
  tarballForBuilder,
  tarballInput,
} from '../../../domain/builders/control-plane.ts'
import {
  builderAccessAnswer,
  builderClaimAnswer,
  builderCompleteAnswer,
  builderHeartbeatAnswer,
} from '../../../domain/protocol/builders.ts'
import type { Authenticate } from '../../auth/authenticate.ts'
import { authenticateRequest, messageResponse, noContent, type Operation, operation } from '../framework/operation.ts'
import { documentedErrors } from '../responses/errors.ts'

const call = { method: 'POST', tag: 'Builders', idempotency: 'not-documented', isTraced: false } as const

/** Description of the tag in the OpenAPI document. */
export const BUILDERS_GUIDE = `How a builder gets its work. A builder is a program that makes images on a separate machine. It uses a key of role \`builder\`, of a
workspace or of the organization. It gets the builds of servers that make no images themselves: the source, the commands, the
deployment's secrets for the build, and credentials to push to the deployment's repository. It gets nothing else of the deployment.

A claim is a lease on one build, like a listener's lease on a deployment (*Data plane*). Extend all leases with one \`heartbeat\` every third or fourth of \`lease_seconds\`, or
more often. Measure the lease by your own clock, from before the call. Send \`token\` with every call. 409 with code \`CLAIM_LOST\`, or \`lost\` in a heartbeat, means: the build was
interrupted or superseded, its deadline has passed, or another builder may have it. Stop the build, report nothing, and never use the claim again. An expired lease costs a try; after three tries the build fails. A release
costs no try.`

const CLAIM_LOST = '409 with code `CLAIM_LOST`: the lease has ended or the token is old. Nothing was changed.'

export const builders: Operation[] = [
  operation({
    ...call,
    path: '/v2/builders/claims',
    operationId: 'claimBuilds',
    summary: 'Lease builds that have no holder',
    description:
      'Each answered build is taken by this call. The list is empty if there was nothing to build for `wait_seconds`. Keep such a call open while you have capacity: ' +
      'servers leave builds to builders only if a builder has called in the last 90 seconds. With a key of the organization the call covers all workspaces, so `X-Tenant-Id` is refused (422).',
    input: BUILDER_CALLS.claim.input,
    ...messageResponse('The new claims.', builderClaimAnswer, async (ctx, raw) => ({
      claims: await claimForBuilder(ctx, raw),
    })),
    errors: [],
  }),
  operation({
    ...call,
    path: '/v2/builders/heartbeat',
    operationId: 'heartbeatOfBuilds',
    keepsLease: true,
    summary: 'Extend leases and learn which are lost',
    description:
      'One call extends all leases of a builder. Leases are extended when the call begins. With `wait_seconds` it answers when a claim is lost, ' +
      'at the latest after that time or half of `lease_seconds`. A call with an empty list only reports that the builder is alive.',
    input: BUILDER_CALLS.heartbeat.input,
    ...messageResponse('The lost claims.', builderHeartbeatAnswer, async (ctx, raw) => ({
      claims: await heartbeatOfBuilder(ctx, raw),
    })),
    errors: [],
  }),
  operation({
    ...call,
    path: '/v2/builders/claims/{claim_id}/access',
    operationId: 'getBuildAccess',
    summary: 'Get credentials for the source and the registry',
    description: `The credentials are short-lived: request them when the build begins. You may request them again. ${CLAIM_LOST}`,
    input: BUILDER_CALLS.access.input,
    ...messageResponse('The credentials, or the reason why there are none.', builderAccessAnswer, accessForBuilder),
    errors: [409],
  }),
  operation({
    ...call,
    path: '/v2/builders/claims/{claim_id}/logs',
    operationId: 'appendBuildLogs',
    summary: 'Append lines to the build log',
    description: `Lines keep their order. Each line is cut at 8 KiB. The body may have at most 1 MiB. ${CLAIM_LOST}`,
    input: BUILDER_CALLS.logs.input,
    ...noContent('The lines are stored.', logsOfBuilder),
    errors: [409],
  }),
  operation({
    ...call,
    path: '/v2/builders/claims/{claim_id}/complete',
    operationId: 'completeBuild',
    keepsLease: true,
    summary: 'Report how a build ended',
    description:
      'The claim ends with this call. `recorded: false`: the build had already ended (interrupted, superseded, or past its deadline), so the outcome changed nothing. ' +
      `Repeat a report of success or failure if its answer was lost. ${CLAIM_LOST}`,
    input: BUILDER_CALLS.complete.input,
    ...messageResponse('Whether the outcome was recorded.', builderCompleteAnswer, completeForBuilder),
    errors: [409],
  }),
  operation({
    ...call,
    path: '/v2/builders/claims/{claim_id}/release',
    operationId: 'releaseBuild',
    keepsLease: true,
    summary: 'Give a build back',
    description:
      'Another builder can take the build immediately. A release costs no try. Stop all work of the claim first. ' +
      `A builder calls it when it shuts down. ${CLAIM_LOST}`,
    input: BUILDER_CALLS.release.input,
    ...noContent('The build can be claimed again.', releaseForBuilder),
    errors: [409],
  }),
]

const bytes = z.string().meta({ format: 'binary' })

/** Sends the source tarball of a build to its builder. Not declared as an operation, because the answer is not JSON. */
export function builderTarball(fastify: FastifyInstance, authenticate: Authenticate): void {
  fastify.get('/v2/builders/claims/:claim_id/tarball', {
    schema: {
      operationId: 'getBuildTarball',
      summary: 'Fetch the source tarball of a build',
      description:
        'Call it if `access` answered `tarball`. It answers the uploaded bytes. 404: the tarball is not available any more; complete the build as `failed` with the message of the error. The bytes have to be read within ten minutes. A server sends 16 tarballs of an organization concurrently; more are answered 429 with `Retry-After`.',
      tags: ['Builders'],
      params: tarballInput.shape.path,
      querystring: tarballInput.shape.query,
      response: {
        200: { description: 'The bytes of the tarball.', content: { 'application/octet-stream': { schema: bytes } } },
        ...documentedErrors(401, 403, 404, 409, 422, 429),
      },
    },
    onRequest: authenticateRequest(authenticate),
    handler: async (request, reply) => {
      const bytes = await tarballForBuilder(request.caller!, { path: request.params, query: request.query })
      return reply.type('application/octet-stream').send(bytes)
    },
  })
}
