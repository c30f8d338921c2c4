/** One server and one key: the typed calls of the OpenAPI document (openapi-fetch), with retries, and errors that are thrown. */
import { randomUUID } from 'node:crypto'
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch'
import type { paths } from './openapi.ts'
import { fetchPatiently, type RetryOptions } from './retry.ts'

export interface ClientOptions extends Partial<RetryOptions> {
  /** where the server is, e.g. `https://control.example.com`; a path before `/v2` is kept */
  baseUrl: string
  /** an API key; sent in `X-Api-Key`, to this server alone */
  apiKey: string
  /** the workspace, for a key of a whole organization */
  tenantId?: string
}

export interface Connection {
  /** Every operation of the REST API, by its path. Rejects with PilothouseError or UnreachableError: of what it answers, `data` is always there. */
  api: FetchClient<paths>
  retry: RetryOptions
  /** of the server, for messages */
  origin: string
}

/** ms; a server that restarts is back long before. */
const RETRY_FOR_MS = 60_000

/** Throws TypeError for options that can't be used. Connects to nobody yet. */
export function connect({ baseUrl, apiKey, tenantId, retryForMs = RETRY_FOR_MS, onRetry }: ClientOptions): Connection {
  const url = baseUrlOf(baseUrl)
  const headers = {
    'X-Api-Key': headerValue('apiKey', apiKey),
    ...(tenantId ? { 'X-Tenant-Id': headerValue('tenantId', tenantId) } : {}),
  }
  const retry = { retryForMs, onRetry }
  const api = createFetchClient<paths>({
    baseUrl: url.href,
    headers,
    fetch(request) {
      // once for all tries
      if (request.method !== 'GET' && !request.headers.has('idempotency-key'))
        request.headers.set('Idempotency-Key', randomUUID())
      return fetchPatiently(retry, () => request.clone())
    },
  })
  return { api, retry, origin: url.origin }
}

function baseUrlOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol)) throw new TypeError('baseUrl must be an http(s) URL.')
  // fetch refuses them with a message that has them in it
  if (url.username || url.password) throw new TypeError('baseUrl must have no user name and password.')
  if (url.search || url.hash) throw new TypeError('baseUrl must have no query string and no fragment.')
  return url
}

/** Checked here, since fetch refuses a value that no header may have with a message that has it in it. */
function headerValue(name: string, value: string): string {
  if (!/^[\x21-\x7e]+$/.test(value))
    throw new TypeError(`${name} must have printable ASCII characters only, and no spaces.`)
  return value
}
