/** Clients of the provider's REST API: as our app, as one of its installations, as a person. */
import { createAppAuth } from '@octokit/auth-app'
import { Octokit as Core } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import { retry } from '@octokit/plugin-retry'
import { throttling } from '@octokit/plugin-throttling'
import type { Log } from '../../platform/log/log.ts'
import { fetchJson } from './fetch.ts'

export interface ConnectionSettings {
  /** without a slash at the end */
  apiUrl: string
  appId: string
  privateKey: string
  oauthClient: { id: string; secret: string } | null
  log: Log
}

/** Seconds that a request of ours may be delayed by a rate limit; a longer wait is an error at once. */
const SHORT_WAIT = 3
/** answers that another try does not change; how to go on after a rate limit is the throttling's decision */
const FINAL = [400, 401, 403, 404, 409, 410, 422, 429, 451]

const Octokit = Core.plugin(paginateRest, retry, throttling)
export type Client = InstanceType<typeof Octokit>

// its own words are left out: they would go to the console, and what failed is logged by call.ts
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** Installation tokens, kept until shortly before they end. Oldest ones go when there are too many. */
class TokenCache {
  readonly #kept = new Map<string, { value: string; until: number }>()

  get(key: string): string {
    const found = this.#kept.get(key)
    return found && found.until > Date.now() ? found.value : ''
  }

  set(key: string, value: string): void {
    this.#kept.delete(key)
    this.#kept.set(key, { value, until: Date.now() + 55 * 60_000 })
    if (this.#kept.size > 5_000) this.#kept.delete(this.#kept.keys().next().value!)
  }
}

export class Connection {
  readonly settings: ConnectionSettings
  readonly #tokens = new TokenCache()

  constructor(settings: ConnectionSettings) {
    this.settings = settings
  }

  /** As the app; with an installation, as that: the provider's limits count for each on its own. */
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

  /** As the person whom the token belongs to. */
  asPerson(token: string): Client {
    return this.#client('person', { auth: token })
  }

  #client(throttleId: string, auth: object): Client {
    const waitsShortly = (seconds: number, _options: object, _octokit: Core, retryCount: number) =>
      seconds <= SHORT_WAIT && retryCount === 0
    return new Octokit({
      ...auth,
      baseUrl: this.settings.apiUrl,
      userAgent: 'pilothouse',
      log: silent,
      request: { fetch: fetchJson, log: silent },
      // a second between two tries; a third one would take longer than people wait
      retry: { doNotRetry: FINAL, retries: 1 },
      throttle: { id: throttleId, onRateLimit: waitsShortly, onSecondaryRateLimit: waitsShortly },
    })
  }
}
