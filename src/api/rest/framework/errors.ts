/**
 * The one mapping from what is thrown to what REST answers (docs/api-rules.md#errors). Whatever is not known to be the
 * caller's to know is `Internal error`, logged once with its cause under the request's id.
 */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { asUnavailable } from '../../../domain/errors/database-error.ts'
import { DomainError, ValidationError } from '../../../domain/errors/errors.ts'
import type { Log } from '../../../platform/log/log.ts'
import { CHALLENGE } from '../../auth/authenticate.ts'

/** Makes the handler for Fastify's setErrorHandler and frameworkErrors. */
export function errorHandler(log: Log) {
  return (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const logFields = { requestId: request.id, route: request.routeOptions.url }
    const shown = shownError(error, log, logFields, abortedBody(error, request))
    // also where no hook has run, as for a path that can't be decoded
    reply.header('x-request-id', request.id)
    if (shown.code === 'UNAUTHENTICATED') reply.header('www-authenticate', CHALLENGE)
    if (shown.retryAfterSeconds !== undefined) reply.header('retry-after', shown.retryAfterSeconds)
    reply.code(shown.status).type('application/json').send(errorText(shown, request.id))
  }
}

/** What the caller is shown of it. An error that is not theirs to know is logged, under `about`. `otherwise`: if it is nothing else. */
export function shownError(error: unknown, log: Log, about: object, fallback: DomainError | null = null): DomainError {
  const known = asDomainError(error) ?? asUnavailable(error) ?? fallback
  if (!known) log.error({ err: error, ...about }, 'request failed')
  return known ?? new DomainError('INTERNAL', 'Internal error')
}

/** The caller went away in the middle of its body: no fault of ours, though nobody is left to read the answer. */
function abortedBody(error: unknown, { raw }: FastifyRequest): DomainError | null {
  if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET' || raw.complete) return null
  return new DomainError('MALFORMED_REQUEST', 'The connection broke before the body was complete.')
}

/** The body of every error, as text (docs/api-rules.md#errors). */
export function errorText(shown: DomainError, requestId: string): string {
  const detail = shown instanceof ValidationError ? shown.violations : shown.message
  return JSON.stringify({ detail, code: shown.code, request_id: requestId })
}

/** Fastify's own errors are about reading the request; each has its place in the catalogue. */
function asDomainError(error: unknown): DomainError | null {
  if (error instanceof DomainError) return error
  const { code, statusCode = 500, message } = error as FastifyError
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new DomainError('PAYLOAD_TOO_LARGE', 'The body is larger than 1 MiB.')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return notJsonError()
  if (code === 'FST_ERR_BAD_URL' || code === 'FST_ERR_MAX_PARAM_LENGTH')
    return new ValidationError([
      { loc: ['path'], msg: 'Not a path of this API: badly encoded or too long.', type: 'value_error' },
    ])
  // e.g. a body that is shorter than its Content-Length
  if (code?.startsWith('FST_ERR_CTP_') && statusCode < 500)
    return new ValidationError([{ loc: ['body'], msg: message, type: 'value_error' }])
  return null
}

export function notJsonError(): DomainError {
  return new DomainError('UNSUPPORTED_MEDIA_TYPE', 'The body must be JSON, sent with Content-Type: application/json.')
}
