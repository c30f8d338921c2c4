/** fetch with a timeout that accepts only JSON responses. */
import { ProviderUnavailableError } from '../../domain/ports/git-provider.ts'

/** Timeout of one call with all its requests. */
export const CALL_TIMEOUT_MS = 10_000
/** Timeout of one request. Shorter than the call's timeout, so a retry starts a new token request. */
const REQUEST_TIMEOUT_MS = 8_000

/**
 * The libraries' token requests come without a signal and other calls may wait for them, so each request has a timeout
 * here. The timer holds the controller: the garbage collector could take a signal that only AbortSignal.any refers to.
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
