/**
 * Receives PUTs of tarballs if the storage is a local folder. The URL comes from `upload-url` and its signature is the credential,
 * so this is not declared as an operation. The body bypasses all parsers.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyPluginAsync } from 'fastify'
import { DomainError } from '../../../domain/errors/errors.ts'
import { receiveUpload } from '../../../domain/sources/uploads.ts'
import type { Core } from '../../../domain/transaction/context.ts'

const IDLE_TIMEOUT_MS = 60_000
/** For the whole upload. storage/folder.ts depends on it. */
const UPLOAD_TIMEOUT_MS = 60 * 60 * 1000

declare module 'fastify' {
  interface FastifyContextConfig {
    /** the route limits the duration of its body itself (server/http.ts) */
    hasOwnBodyTimeout?: boolean
  }
}

/** Register it only if the storage receives uploads. */
export const uploads: FastifyPluginAsync<{ core: Core }> = async (fastify, { core }) => {
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser('*', (_request, payload, done) => done(null, payload))
  fastify.route<{ Params: { '*': string }; Querystring: Record<string, unknown> }>({
    method: 'PUT',
    url: '/v1/uploads/*',
    schema: { hide: true },
    config: { hasOwnBodyTimeout: true, keyless: 'unlessSuccessful' },
    handler: async (request) => {
      const objectPath = request.params['*']
      const length = request.headers['content-length']
      const { size, checksum } = await receiveUpload(core, {
        objectPath,
        expires: String(request.query.expires),
        signature: String(request.query.signature),
        length: length === undefined ? null : Number(length),
        chunks: readChunks(request.raw),
      })
      return { object_path: objectPath, size, checksum }
    },
  })
}

/** Reads the body. If the reader stops early, the connection stays open for the answer. */
async function* readChunks(request: IncomingMessage): AsyncGenerator<Uint8Array> {
  request.setTimeout(IDLE_TIMEOUT_MS, () => request.destroy())
  const limit = setTimeout(() => request.destroy(), UPLOAD_TIMEOUT_MS)
  request.once('close', () => clearTimeout(limit))
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) yield chunk
  } catch {
    throw new DomainError('MALFORMED_REQUEST', 'The upload was broken off.')
  }
}
