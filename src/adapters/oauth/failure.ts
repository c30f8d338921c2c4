/**
 * Turns what goes wrong in the library into an OAuthFailure, so that nothing of a request or an answer gets out with
 * it.
 */
import {
  AuthorizationResponseError,
  OperationProcessingError,
  ResponseBodyError,
  UnsupportedOperationError,
  WWWAuthenticateChallengeError,
} from 'oauth4webapi'
import { OAuthFailure } from '../../domain/ports/oauth-client.ts'

/** What an error code looks like, which is a word or some; anything else might be a secret that is sent back to us. */
const ERROR_CODE = /^[a-z]{2,24}([_.-][a-z]{1,24}){0,5}$/

/**
 * `wanted`: what the answer should have been, "a token". The library's errors hold the whole answer: they are never
 * passed on, not even as a cause.
 */
export function toOAuthFailure(error: unknown, wanted: string): OAuthFailure {
  if (error instanceof OAuthFailure) return error
  if (error instanceof ResponseBodyError || error instanceof AuthorizationResponseError) return toRefusal(error.error)
  if (error instanceof WWWAuthenticateChallengeError)
    return toRefusal(error.cause.find(({ parameters }) => parameters.error)?.parameters.error, error.status)
  if (error instanceof OperationProcessingError || error instanceof UnsupportedOperationError)
    return new OAuthFailure('unusable', `answered with something that is not ${wanted}`)
  // not foreseen: then nobody knows what has happened at the provider, either
  return new OAuthFailure('unanswered', 'could not be asked')
}

function toRefusal(code: unknown, status?: number): OAuthFailure {
  if (typeof code === 'string' && ERROR_CODE.test(code)) return new OAuthFailure('refused', `answered: ${code}`, code)
  return new OAuthFailure('refused', status ? `answered ${status}` : 'answered with an error')
}

/** Neither a redirect, which would take what is secret elsewhere, nor a server in trouble, whatever it says. */
export function requireUsableStatus(response: Response): Response {
  const { status } = response
  if (status >= 300 && status < 400) throw new OAuthFailure('unusable', 'answered with a redirect')
  // a gateway has passed it on, and does not know what came of it
  if (status === 504) throw new OAuthFailure('unanswered', `answered ${status}`)
  if (status >= 500) throw new OAuthFailure('unusable', `answered ${status}`)
  return response
}

/** The JSON object in an answer of a status below 500. `wanted`: as above. Throws OAuthFailure. */
export async function readJsonObject(response: Response, wanted: string): Promise<Record<string, unknown>> {
  const text = await requireUsableStatus(response).text()
  const parsed = parseObject(text)
  if (parsed) return parsed
  if (!response.ok) throw new OAuthFailure('unusable', `answered ${response.status}`)
  // a success that was cut off: whatever was asked for may have been done
  const kind = isJson(response) && parseJson(text) === undefined ? 'unanswered' : 'unusable'
  throw new OAuthFailure(kind, `answered with ${describeBody(response, text)} instead of ${wanted}`)
}

/** What is wrong with an answer that should have been metadata, as a clause with nothing of the answer in it. */
export async function describeNonMetadata(response: Response): Promise<string> {
  if (response.status !== 200) return `answered ${response.status}`
  const text = await response.text()
  if (!parseObject(text)) return `answered with ${describeBody(response, text)}`
  const type = response.headers.get('content-type') ?? ''
  // the library takes no other
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

/** Undefined: it is no JSON, or not all of it. */
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
