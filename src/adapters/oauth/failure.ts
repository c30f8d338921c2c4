/** Converts errors of the OAuth libraries to an OutboundFailure that contains no part of a request or a response. */
import {
  AuthorizationResponseError,
  OperationProcessingError,
  ResponseBodyError,
  UnsupportedOperationError,
  WWWAuthenticateChallengeError,
} from 'oauth4webapi'
import { OutboundFailure } from '../../platform/http/outbound-failure.ts'

/** The form of an error code. Any other text might be a secret that the provider echoes. */
const ERROR_CODE = /^[a-z]{2,24}([_.-][a-z]{1,24}){0,5}$/

/** `expected`: names the expected content. Library errors contain the response, so they are not passed on, not even as a cause. */
export function toOutboundFailure(error: unknown, expected: string): OutboundFailure {
  if (error instanceof OutboundFailure) return error
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) return toRefusal(error.error)
  if (error instanceof WWWAuthenticateChallengeError)
    return toRefusal(error.cause.find(({ parameters }) => parameters.error)?.parameters.error, error.status)
  if (error instanceof OperationProcessingError || error instanceof UnsupportedOperationError)
    return new OutboundFailure('unusable', `answered with something that is not ${expected}`)
  // unexpected, so it is unknown whether the provider acted
  return new OutboundFailure('unanswered', 'could not be asked')
}

function toRefusal(code: unknown, status?: number): OutboundFailure {
  if (typeof code === 'string' && ERROR_CODE.test(code))
    return new OutboundFailure('refused', `answered: ${code}`, code)
  return new OutboundFailure('refused', status ? `answered ${status}` : 'answered with an error')
}

/** Rejects redirects, which could leak secrets to another server, and 5xx responses. */
export function requireUsableStatus(response: Response): Response {
  const { status } = response
  if (status >= 300 && status < 400) throw new OutboundFailure('unusable', 'answered with a redirect')
  // a gateway forwarded the request and does not know its outcome
  if (status === 504) throw new OutboundFailure('unanswered', `answered ${status}`)
  if (status >= 500) throw new OutboundFailure('unusable', `answered ${status}`)
  return response
}

/** Reads the JSON object of a response with a status below 500. Throws OutboundFailure. */
export async function readJsonObject(response: Response, expected: string): Promise<Record<string, unknown>> {
  const text = await requireUsableStatus(response).text()
  const parsed = parseObject(text)
  if (parsed) return parsed
  if (!response.ok) throw new OutboundFailure('unusable', `answered ${response.status}`)
  // A truncated success: the provider may have fulfilled the request.
  const kind = isJson(response) && parseJson(text) === undefined ? 'unanswered' : 'unusable'
  throw new OutboundFailure(kind, `answered with ${describeBody(response, text)} instead of ${expected}`)
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
