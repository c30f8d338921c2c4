/** Runs one call to the provider with a timeout, and converts its failures into messages for people, without secrets. */
import { ProviderUnavailableError } from '../../domain/ports/git-provider.ts'
import { AbortScope } from '../../platform/async/time-limit.ts'
import type { Log } from '../../platform/log/log.ts'

/** Timeout of one call with all its requests. */
const CALL_TIMEOUT_MS = 10_000

/** Shape of the libraries' errors. Only these fields are used, because the rest contains the request. */
interface Failure {
  status: number
  message: string
  cause?: unknown
  response?: { headers: Record<string, string | undefined>; data?: unknown }
}

/**
 * Runs `work` and gives up at the timeout. Rejects with ProviderUnavailableError, with Refusal for a 4xx about the request,
 * or with the signal's reason.
 */
export async function callProvider<T>(
  log: Log,
  what: string,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const scope = new AbortScope(signal)
  scope.limit(CALL_TIMEOUT_MS, () => new ProviderUnavailableError(`did not answer within ${CALL_TIMEOUT_MS / 1000} s`))
  try {
    return await scope.unlessAborted(work(scope.signal))
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    const known = translate(error)
    if (known instanceof ProviderUnavailableError) log.warn({ asked: what }, known.message)
    throw known
  } finally {
    scope.end()
  }
}

/** The provider understood the request and refused it. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

function translate(error: unknown): unknown {
  if (error instanceof ProviderUnavailableError || error instanceof Refusal) return error
  const { status, message, response, cause } = error as Failure
  if (cause instanceof ProviderUnavailableError) return cause
  if (typeof status !== 'number') return error
  if (!response) {
    // timeout of a single request (connection.ts)
    if ((error as Error).name === 'AbortError') return new ProviderUnavailableError('did not answer in time')
    const code = codeOf(cause)
    return new ProviderUnavailableError(`can't be reached${code ? ` (${code})` : ''}`)
  }
  if (status >= 500) return new ProviderUnavailableError(`answered ${status}`)
  const { headers } = response
  const limit = headers['retry-after'] ?? (headers['x-ratelimit-remaining'] === '0' && headers['x-ratelimit-reset'])
  if (status === 429 || (status === 403 && limit))
    return new ProviderUnavailableError(`limits how often we may ask${waitOf(headers)}`)
  if (status === 401)
    return new ProviderUnavailableError(
      'refuses our app (401): check GITPROVIDER_APP_ID, GITPROVIDER_PRIVATE_KEY and the clock of this server',
    )
  if (status === 403 && /suspended/i.test(message))
    return new ProviderUnavailableError('says that the installation of the app is suspended')
  return new Refusal(status, message)
}

function waitOf(headers: Record<string, string | undefined>): string {
  const reset = Number(headers['x-ratelimit-reset'])
  const seconds = Number(headers['retry-after']) || Math.ceil(reset - Date.now() / 1000)
  return seconds > 0 ? ` and wants us to wait ${seconds} s` : ''
}

/** A system error code like `ECONNREFUSED`, from any depth of causes. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : codeOf(error.cause)
}
