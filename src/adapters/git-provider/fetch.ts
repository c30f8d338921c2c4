/** fetch with a limit of time, that takes nothing but JSON for an answer of the API. */
import { ProviderUnavailableError } from '../../domain/ports/git-provider.ts'

/** The longest that one call may take, in milliseconds; all requests it makes together. */
export const CALL_TIMEOUT_MS = 10_000
/** The longest for one request: shorter, so that the next call does not join a token request that is lost already. */
const REQUEST_TIMEOUT_MS = 8_000

/**
 * Requests that the libraries make on their own (for tokens) come without a signal and others may wait for them, so
 * each has the limit here too. The timer holds the controller: a signal below AbortSignal.any alone may be collected.
 */
export async function fetchJson(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
  const late = new AbortController()
  setTimeout(() => late.abort(), REQUEST_TIMEOUT_MS).unref()
  const signal = init.signal ? AbortSignal.any([init.signal, late.signal]) : late.signal
  const response = await fetch(input, { ...init, signal })
  const type = response.headers.get('content-type') ?? ''
  if (response.ok && response.status !== 204 && !/[/+]json\b/.test(type)) {
    await response.body?.cancel()
    throw new ProviderUnavailableError('answered with something that is not JSON')
  }
  return response
}
