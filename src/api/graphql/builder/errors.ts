/**
 * Turns errors into GraphQL errors (docs/architecture.md#rules). A DomainError keeps its code; an error of the document or
 * its variables is VALIDATION_FAILED; any other error is logged and masked as INTERNAL.
 */
import { type FieldNode, GraphQLError, type GraphQLFormattedError } from 'graphql'
import { asUnavailable } from '../../../domain/errors/database-error.ts'
import {
  CATALOGUE,
  DomainError,
  type ErrorCode,
  ValidationError,
  type Violation,
} from '../../../domain/errors/errors.ts'
import type { Log } from '../../../platform/log/log.ts'
import { StreamInterruptedError } from '../../realtime/stream.ts'
import { toCamelPath } from './naming.ts'

/** One problem in the input. */
export interface Issue {
  /** begins with the argument's name: `['input', 'sourceConfig', 'resourceSpec', 'cpu']` */
  path: (string | number)[]
  /** what is allowed */
  message: string
  /** a stable machine-readable code */
  code: string
}

/** A mutation has one argument, `input`. A query's field has the arguments in its document node. */
const MUTATION_ARGUMENTS = ['input']

/** `argumentNames`: the arguments of the field that failed. */
export function issuesOf(error: ValidationError, argumentNames: readonly string[] = MUTATION_ARGUMENTS): Issue[] {
  return error.violations.map(({ loc, msg, type }) => ({
    path: argumentPath(loc, argumentNames),
    message: msg,
    code: type,
  }))
}

function argumentPath(loc: Violation['loc'], argumentNames: readonly string[]): Issue['path'] {
  const [part, ...rest] = loc
  if (part === 'header') return loc
  const path = toCamelPath(rest)
  if (argumentNames.includes('input')) return ['input', ...path]
  if (argumentNames.includes(String(path[0]))) return path
  // single resources are looked up by `id`; other query parameters belong to a list's filter
  return part === 'path' ? ['id'] : ['filter', ...path]
}

/** The message for people. A ValidationError lists its issues with GraphQL's names. */
export function messageOf(error: DomainError, argumentNames?: readonly string[]): string {
  // no instanceof: as a member of a result the error is wrapped in a proxy that hides its class
  if (!('violations' in error)) return error.message
  return issuesOf(error as ValidationError, argumentNames)
    .map(({ path, message }) => `${path.join('.')}: ${message}`)
    .join('; ')
}

/** Extensions of a presented error. */
interface Extensions {
  code: ErrorCode
  /** HTTP status of the same error in REST */
  status: number
  retryable: boolean
  /** seconds until a retry makes sense; REST's `Retry-After` */
  retryAfter?: number
  issues?: Issue[]
  /** for an interrupted stream: the `after` to continue with */
  cursor?: string
  /** request id of the log line with the cause */
  requestId?: string
  /** read and removed by Yoga */
  http?: { status: number; spec?: boolean; headers?: Record<string, string> }
}

/** Presents any error of an operation. Errors that are not the caller's are logged. */
export function presentError(error: unknown, log: Log, requestId: string): GraphQLError {
  const outer = error instanceof GraphQLError ? error : null
  const origin = originOf(error)
  const cause = asUnavailable(origin) ?? origin
  if (cause instanceof DomainError) {
    const names = argumentNamesOf(outer)
    const issues = cause instanceof ValidationError ? issuesOf(cause, names) : undefined
    const { status, retryable } = CATALOGUE[cause.code]
    const cursor = cause instanceof StreamInterruptedError ? cause.cursor : undefined
    return wrap(outer, messageOf(cause, names), {
      code: cause.code,
      status,
      retryable,
      ...(cause.retryAfterSeconds !== undefined && { retryAfter: cause.retryAfterSeconds }),
      ...(issues && { issues }),
      ...(cursor && { cursor }),
      ...(RETRYABLE_BY_STATUS.has(cause.code) && { http: retryResponse(cause) }),
    })
  }
  if (cause instanceof GraphQLError) {
    // from the parser, validation, coercion, a limit or HTTP: the caller can fix all of these
    const { http: causeHttp, code: kind } = cause.extensions as { http?: Extensions['http']; code?: string }
    // a request that is not GraphQL gets a 400 from every client (`spec` would make it 200 for older ones)
    const http = causeHttp && { ...causeHttp, spec: causeHttp.spec && kind !== 'BAD_REQUEST' }
    const code = CODE_OF_HTTP[http?.status ?? 0] ?? 'VALIDATION_FAILED'
    return wrap(outer ?? cause, shapeMessage(outer, cause), { ...codeAndStatus(code), ...(http && { http }) })
  }
  log.error({ err: cause, requestId, path: outer?.path?.join('.') }, 'a GraphQL operation failed unexpectedly')
  return wrap(outer, 'Internal error', {
    ...codeAndStatus('INTERNAL'),
    requestId,
    // without a path the whole request failed
    ...(outer?.path ? {} : { http: { status: 500 } }),
  })
}

/** The JSON of a presented error, without the members for Yoga. */
export function errorBody(error: unknown, log: Log, requestId: string): GraphQLFormattedError {
  const { extensions, ...body } = presentError(error, log, requestId).toJSON()
  const { http: _, ...shown } = extensions ?? {}
  return { ...body, extensions: shown }
}

/**
 * graphql-js' message with the place in the variables, but without the value. The value may be a secret in a wrong place.
 */
function shapeMessage(outer: GraphQLError | null, cause: GraphQLError): string {
  const message = cause.message
    .replace(/(cannot represent .*?value): .*$/s, '$1')
    .replace(/, found (?:BlockString|String|["{[]).*$/s, '')
  const before = outer?.message.endsWith(cause.message) ? outer.message.slice(0, -cause.message.length) : ''
  const place = (/ at "([^"\s]+)"; $/.exec(before) ?? /^Variable "\$(\w+)" got /.exec(before))?.[1]
  return place === undefined ? message : `${place}: ${message}`
}

/** Codes that also set the HTTP status, so that clients without GraphQL knowledge retry later. */
const RETRYABLE_BY_STATUS: ReadonlySet<ErrorCode> = new Set(['RATE_LIMITED', 'IDEMPOTENCY_IN_FLIGHT'])

function retryResponse({ status, retryAfterSeconds }: DomainError): Extensions['http'] {
  return { status, headers: { 'retry-after': String(retryAfterSeconds ?? 1) } }
}

/** Codes of HTTP errors that occur before there is a document. */
const CODE_OF_HTTP: Record<number, ErrorCode> = {
  405: 'METHOD_NOT_ALLOWED',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
}

function codeAndStatus(code: ErrorCode): Extensions {
  return { code, ...CATALOGUE[code] }
}

function originOf(error: unknown): unknown {
  let cause = error
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError
  return cause
}

function argumentNamesOf(error: GraphQLError | null): string[] {
  const field = error?.nodes?.[0] as FieldNode | undefined
  return field?.arguments?.map((argument) => argument.name.value) ?? []
}

function wrap(outer: GraphQLError | null, message: string, extensions: Extensions): GraphQLError {
  return new GraphQLError(message, {
    nodes: outer?.nodes,
    source: outer?.source,
    positions: outer?.positions,
    path: outer?.path,
    extensions: { ...extensions },
  })
}

/** Runs `work` and renames the members in its violations to the field's arguments. */
export async function withArgumentNames<T>(names: Record<string, string>, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    throw new ValidationError(
      error.violations.map(({ loc: [part, name, ...rest], ...violation }) => ({
        ...violation,
        loc: [part!, names[String(name)] ?? name!, ...rest],
      })),
    )
  }
}
