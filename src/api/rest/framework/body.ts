/**
 * Reads request bodies. Malformed JSON is passed to the verb, which reports it after 401 and 403, together with the violations
 * of path and query (docs/api-rules.md#errors). An empty body of any content type counts as no body.
 */
import type { FastifyInstance } from 'fastify'
import { MalformedJson } from '../../../domain/parsing/parse.ts'
import { notJsonError } from './errors.ts'

const MAX_BODY_BYTES = 1024 * 1024

export function readBodies(fastify: FastifyInstance): void {
  const options = { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES } as const
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser(
    /^application\/([\w.-]+\+)?json(;|$)/i,
    options,
    async (_request: unknown, body: Buffer) => (body.length === 0 ? undefined : parseJson(body)),
  )
  fastify.addContentTypeParser('*', options, async (_request: unknown, body: Buffer) => {
    if (body.length > 0) throw notJsonError()
  })
}

/** Returns MalformedJson instead of throwing. */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (error) {
    // V8's message quotes the text around the mistake, which may be a secret. Only the position is reported.
    const at = /position \d+( \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0]
    return new MalformedJson(
      error instanceof TypeError ? 'it is not UTF-8' : at ? `unexpected text at ${at}` : 'unexpected end or text',
    )
  }
}
