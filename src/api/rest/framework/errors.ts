/**
 * Maps thrown errors to REST answers (docs/api-rules.md#errors). An unknown error becomes `Internal error` and is logged once
 * with its cause and the request id.
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
    // for errors before any hook, such as a path that can't be decoded
    reply.header('x-request-id', request.id)
    if (shown.code === 'UNAUTHENTICATED') reply.header('www-authenticate', CHALLENGE)
    if (shown.retryAfterSeconds !== undefined) reply.header('retry-after', shown.retryAfterSeconds)
    reply.code(shown.status).type('application/json').send(errorText(shown, request.id))
  }
}

/** The error to show. An unknown error is logged with `logFields`. `fallback` replaces an otherwise unknown error. */
export function shownError(error: unknown, log: Log, about: object, fallback: DomainError | null = null): DomainError {
  const known = asDomainError(error) ?? asUnavailable(error) ?? fallback
  if (!known) log.error({ err: error, ...about }, 'request failed')
  return known ?? new DomainError('INTERNAL', 'Internal error')
}

/** The client closed the connection within its body. This is no server error. */
function abortedBody(error: unknown, { raw }: FastifyRequest): DomainError | null {
  if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET' || raw.complete) return null
  return new DomainError('MALFORMED_REQUEST', 'The connection broke before the body was complete.')
}

/** The JSON text of an error (docs/api-rules.md#errors). */
export function errorText(shown: DomainError, requestId: string): string {
  const detail = shown instanceof ValidationError ? shown.violations : shown.message
  return JSON.stringify({ detail, code: shown.code, request_id: requestId })
}

/** Also maps Fastify's errors about reading a request to the catalogue. */
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
