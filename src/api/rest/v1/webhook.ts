/**
 * POST /v1/integrations/gitprovider/webhook: deliveries of the git provider (docs/sources.md#git-providers). The credential is the
 * signature of the raw body, so this route has its own body parser. It answers immediately; the work is done later.
 */
import type { FastifyError, FastifyPluginAsync } from 'fastify'
import { DomainError, UnauthenticatedError } from '../../../domain/errors/errors.ts'
import { receiveDelivery } from '../../../domain/sources/webhooks/receive.ts'
import type { Core } from '../../../domain/transaction/context.ts'
import { parseJson } from '../framework/body.ts'
import { notJsonError } from '../framework/errors.ts'

/** The provider's limit for a delivery. */
const MAX_DELIVERY_BYTES = 25 * 1024 * 1024

/** A separate Fastify scope with its own body parser. Answers 404 if no provider is configured. */
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
