/** Sends the source tarball of a build to its builder. Not declared as an operation, because the answer is not JSON. */
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { tarballForBuilder, tarballInput } from '../../../domain/builders/control-plane.ts'
import type { Authenticate } from '../../auth/authenticate.ts'
import { authenticateRequest } from '../framework/operation.ts'
import { documentedErrors } from '../responses/errors.ts'

const bytes = z.string().meta({ format: 'binary' })

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
