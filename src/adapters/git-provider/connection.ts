/** Clients of the provider's REST API: as our app, as an installation, as a person. */
import { createAppAuth } from '@octokit/auth-app'
import { Octokit as Core } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import { retry } from '@octokit/plugin-retry'
import { throttling } from '@octokit/plugin-throttling'
import { LRUCache } from 'lru-cache'
import { ProviderUnavailableError } from '../../domain/ports/git-provider.ts'
import type { Log } from '../../platform/log/log.ts'

export interface ConnectionSettings {
  /** without a final slash */
  apiUrl: string
  appId: string
  privateKey: string
  oauthClient: { id: string; secret: string } | null
  log: Log
}

/** A longer wait for a rate limit is an immediate error. */
const MAX_RATE_LIMIT_WAIT_SECONDS = 3
/** statuses that a retry does not change; the throttling plugin handles rate limits */
const FINAL_STATUSES = [400, 401, 403, 404, 409, 410, 422, 429, 451]

const Octokit = Core.plugin(paginateRest, retry, throttling)
export type Client = InstanceType<typeof Octokit>

// silences the library's console output; call.ts logs failures
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** The provider's installation tokens last an hour. */
const TOKEN_CACHE = { max: 5_000, ttl: 55 * 60_000 } // ttl in ms

export class Connection {
  readonly settings: ConnectionSettings
  readonly #tokens = new LRUCache<string, string>(TOKEN_CACHE)

  constructor(settings: ConnectionSettings) {
    this.settings = settings
  }

  /** Client as the app or as an installation. The provider's rate limits count separately for each. */
  as(installationId?: number): Client {
    const { appId, privateKey, oauthClient } = this.settings
    return this.#client(`${appId}/${installationId ?? 'app'}`, {
      authStrategy: createAppAuth,
      auth: {
        appId,
        privateKey,
        cache: this.#tokens,
        log: silent,
        ...(oauthClient ? { clientId: oauthClient.id, clientSecret: oauthClient.secret } : {}),
        ...(installationId === undefined ? {} : { installationId }),
      },
    })
  }

  asPerson(token: string): Client {
    return this.#client('person', { auth: token })
  }

  #client(throttleId: string, auth: object): Client {
    const waitsShortly = (seconds: number, _options: object, _octokit: Core, retryCount: number) =>
      seconds <= MAX_RATE_LIMIT_WAIT_SECONDS && retryCount === 0
    return new Octokit({
      ...auth,
      baseUrl: this.settings.apiUrl,
      userAgent: 'pilothouse',
      log: silent,
      request: { fetch: fetchJson, log: silent },
      // one second between tries; a third try would take longer than people wait
      retry: { doNotRetry: FINAL_STATUSES, retries: 1 },
      throttle: { id: throttleId, onRateLimit: waitsShortly, onSecondaryRateLimit: waitsShortly },
    })
  }
}

/** Timeout of one request. Shorter than the call's timeout, so a retry starts a new token request. */
const REQUEST_TIMEOUT_MS = 8_000

/**
 * fetch that accepts only JSON responses. The libraries' token requests come without a signal and other calls may wait for them, so each request has a timeout
 * here. The timer holds the controller: the garbage collector could take a signal that only AbortSignal.any refers to.
 */
async function fetchJson(input: string | URL | Request, init: RequestInit = {}): Promise<Response> {
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
