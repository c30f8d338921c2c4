/**
 * POST /v1/integrations/gitprovider/webhook: the git provider's deliveries of what happened there (docs/sources.md#git-providers). Its credential is the
 * signature of the body as it was sent, so this route reads bodies in its own way. It answers at once; the work is done
 * later. The headers are those of the provider's protocol.
 */
import type { FastifyError, FastifyPluginAsync } from 'fastify'
import { DomainError, UnauthenticatedError } from '../../../domain/errors/errors.ts'
import { receiveDelivery } from '../../../domain/sources/webhooks/receive.ts'
import type { Core } from '../../../domain/transaction/context.ts'
import { parseJson } from '../framework/body.ts'
import { notJsonError } from '../framework/errors.ts'

/** The provider sends none that is larger. */
const MAX_DELIVERY_BYTES = 25 * 1024 * 1024

/** A Fastify scope of its own, for its own way to read bodies. Where no provider is configured there is nothing here. */
export const webhook: FastifyPluginAsync<{ core: Core }> = async (fastify, { core }) => {
  const { gitProvider } = core
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: MAX_DELIVERY_BYTES },
    async (_: unknown, body: Buffer) => body,
  )
  fastify.setErrorHandler((error) => {
    if ((error as FastifyError).code === 'FST_ERR_CTP_BODY_TOO_LARGE')
      throw new DomainError('PAYLOAD_TOO_LARGE', 'The body is larger than 25 MiB.')
    throw error
  })
  fastify.addHook('onRequest', async () => {
    if (!gitProvider) throw new DomainError('NOT_FOUND', 'No git provider is configured here.')
  })
  fastify.post(
    '/v1/integrations/gitprovider/webhook',
    { schema: { hide: true }, config: { keyless: 'unlessSuccessful' }, bodyLimit: MAX_DELIVERY_BYTES },
    async (request, reply) => {
      const { headers } = request
      const raw = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const signature = headers['x-hub-signature-256']
      if (!(await gitProvider!.verifyWebhook(raw, Array.isArray(signature) ? undefined : signature)))
        throw new UnauthenticatedError(
          'The signature of this delivery is missing or wrong: see GITPROVIDER_WEBHOOK_SECRET.',
        )
      if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) throw notJsonError()
      const { duplicate } = await receiveDelivery(core, { header: headers, body: parseJson(raw) })
      return reply.code(202).send({ accepted: true, ...(duplicate ? { duplicate } : {}) })
    },
  )
}
