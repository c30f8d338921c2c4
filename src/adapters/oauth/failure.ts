/** Converts errors of the OAuth libraries to an OAuthFailure that contains no part of a request or a response. */
import {
  AuthorizationResponseError,
  OperationProcessingError,
  ResponseBodyError,
  UnsupportedOperationError,
  WWWAuthenticateChallengeError,
} from 'oauth4webapi'
import { OAuthFailure } from '../../domain/ports/oauth-client.ts'

/** The form of an error code. Any other text might be a secret that the provider echoes. */
const ERROR_CODE = /^[a-z]{2,24}([_.-][a-z]{1,24}){0,5}$/

/** `expected`: names the expected content. Library errors contain the response, so they are not passed on, not even as a cause. */
export function toOAuthFailure(error: unknown, expected: string): OAuthFailure {
  if (error instanceof OAuthFailure) return error
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) return toRefusal(error.error)
  if (error instanceof WWWAuthenticateChallengeError)
    return toRefusal(error.cause.find(({ parameters }) => parameters.error)?.parameters.error, error.status)
  if (error instanceof OperationProcessingError || error instanceof UnsupportedOperationError)
    return new OAuthFailure('unusable', `answered with something that is not ${expected}`)
  // unexpected, so it is unknown whether the provider acted
  return new OAuthFailure('unanswered', 'could not be asked')
}

function toRefusal(code: unknown, status?: number): OAuthFailure {
  if (typeof code === 'string' && ERROR_CODE.test(code)) return new OAuthFailure('refused', `answered: ${code}`, code)
  return new OAuthFailure('refused', status ? `answered ${status}` : 'answered with an error')
}

/** Rejects redirects, which could leak secrets to another server, and 5xx responses. */
export function requireUsableStatus(response: Response): Response {
  const { status } = response
  if (status >= 300 && status < 400) throw new OAuthFailure('unusable', 'answered with a redirect')
  // a gateway forwarded the request and does not know its outcome
  if (status === 504) throw new OAuthFailure('unanswered', `answered ${status}`)
  if (status >= 500) throw new OAuthFailure('unusable', `answered ${status}`)
  return response
}

/** Reads the JSON object of a response with a status below 500. Throws OAuthFailure. */
export async function readJsonObject(response: Response, expected: string): Promise<Record<string, unknown>> {
  const text = await requireUsableStatus(response).text()
  const parsed = parseObject(text)
  if (parsed) return parsed
  if (!response.ok) throw new OAuthFailure('unusable', `answered ${response.status}`)
  // A truncated success: the provider may have fulfilled the request.
  const kind = isJson(response) && parseJson(text) === undefined ? 'unanswered' : 'unusable'
  throw new OAuthFailure(kind, `answered with ${describeBody(response, text)} instead of ${expected}`)
}

/** Describes a response that is not metadata, as a clause without any part of the response. */
export async function describeNonMetadata(response: Response): Promise<string> {
  if (response.status !== 200) return `answered ${response.status}`
  const text = await response.text()
  if (!parseObject(text)) return `answered with ${describeBody(response, text)}`
  const type = response.headers.get('content-type') ?? ''
  // the library accepts no other type
  if (!/^application\/json *(;|$)/i.test(type)) return 'answered with another content type than application/json'
  return 'answered with other JSON'
}

const isJson = (response: Response) =>
  /^(application|text)\/([\w.-]+\+)?json *(;|$)/i.test(response.headers.get('content-type') ?? '')

function parseObject(text: string): Record<string, unknown> | null {
  const parsed = parseJson(text)
  const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
  return isObject ? (parsed as Record<string, unknown>) : null
}

/** Undefined: not JSON, or truncated. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function describeBody(response: Response, text: string): string {
  if (text.trim() === '') return 'nothing'
  if (response.headers.get('content-type')?.includes('html') || text.trimStart().startsWith('<')) return 'HTML'
  if (parseJson(text) !== undefined) return 'JSON that is no object'
  return isJson(response) ? 'JSON that is cut off or wrong' : 'something that is not JSON'
}

/** The address itself is wrong, so a retry is useless. */
export class WrongAddressFailure extends OAuthFailure {
  constructor(message: string) {
    super('unreachable', message)
  }
}

const UNREACHABLE: Record<string, string> = {
  EAI_AGAIN: 'has a host name that cannot be resolved now',
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'cut the connection before anything was sent',
  ETIMEDOUT: 'could not be reached in time',
  EHOSTUNREACH: 'cannot be reached from here',
  ENETUNREACH: 'cannot be reached from here',
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  UND_ERR_INVALID_ARG: 'cannot be asked: there are characters in the request that must not be sent',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
}

const UNTRUSTED = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_)/
const NO_TLS = /^(EPROTO|ERR_SSL_|ERR_TLS_)/

const UNANSWERED: Record<string, string> = {
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'sent an answer that is too large',
  ERR_BUFFER_TOO_LARGE: 'sent an answer that is too large',
  UND_ERR_HEADERS_OVERFLOW: 'sent an answer that is too large',
  UND_ERR_SOCKET: 'cut the connection before its answer was complete',
  ECONNRESET: 'cut the connection before its answer was complete',
  EPIPE: 'cut the connection before its answer was complete',
}

/** Describes a network error. Only its code is used. `connected`: whether the connection became writable. */
export function toNetworkFailure(error: unknown, connected: boolean): OAuthFailure {
  if (error instanceof OAuthFailure) return error
  const code = codeOf(error)
  if (connected)
    return new OAuthFailure('unanswered', UNANSWERED[code] ?? `sent an answer that cannot be read (${code})`)
  if (code === 'ENOTFOUND') return new WrongAddressFailure('has a host name that is not known')
  return new OAuthFailure('unreachable', UNREACHABLE[code] ?? describeCode(code))
}

function describeCode(code: string): string {
  if (UNTRUSTED.test(code)) return `has a certificate that is not trusted (${code})`
  if (NO_TLS.test(code)) return `has no working TLS (${code})`
  return `cannot be reached (${code})`
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^[A-Z][A-Z0-9_]+$/.test(code) ? code : 'no further details'
}
