/** A connection to one server with one key: openapi-fetch's typed calls, with retries and thrown errors. */
import createFetchClient, { type Client as FetchClient } from 'openapi-fetch'
import type { paths } from './openapi.ts'
import { fetchWithRetries, type RetryOptions } from './retry.ts'

export interface ClientOptions extends Partial<RetryOptions> {
  /** e.g. `https://control.example.com`, optionally with a path before `/v2` */
  baseUrl: string
  /** sent in `X-Api-Key`, only to this server; absent: for a login, which needs none */
  apiKey?: string | undefined
  /** the workspace; required for an organization-wide key */
  tenantId?: string
}

export interface Connection {
  /** Calls an operation of the REST API by its path. Rejects with PilothouseError or UnreachableError, so `data` is always defined. */
  api: FetchClient<paths>
  retry: RetryOptions
  /** the server, for messages */
  origin: string
}

/** Longer than the restart of a server. */
const DEFAULT_RETRY_FOR_MS = 60_000

/** Throws TypeError for invalid options. Opens no connection yet. */
export function connect({
  baseUrl,
  apiKey,
  tenantId,
  retryForMs = DEFAULT_RETRY_FOR_MS,
  onRetry,
}: ClientOptions): Connection {
  const url = parseBaseUrl(baseUrl)
  const headers = {
    ...(apiKey === undefined ? {} : { 'X-Api-Key': checkHeaderValue('apiKey', apiKey) }),
    ...(tenantId ? { 'X-Tenant-Id': checkHeaderValue('tenantId', tenantId) } : {}),
  }
  const retry = { retryForMs, onRetry }
  const api = createFetchClient<paths>({
    baseUrl: url.href,
    headers,
    fetch(request) {
      // one key for all tries
      if (request.method !== 'GET' && !request.headers.has('idempotency-key'))
        request.headers.set('Idempotency-Key', randomKey())
      return fetchWithRetries(retry, () => request.clone())
    },
  })
  return { api, retry, origin: url.origin }
}

/** Not `randomUUID()`, which browsers offer only over https. */
const randomKey = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')

function parseBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !/^https?:$/.test(url.protocol)) throw new TypeError('baseUrl must be an http(s) URL.')
  // fetch would show them in its error message
  if (url.username || url.password) throw new TypeError('baseUrl must have no user name and password.')
  if (url.search || url.hash) throw new TypeError('baseUrl must have no query string and no fragment.')
  return url
}

/** Checks a value before `fetch` does, because fetch shows an invalid value in its error message. */
function checkHeaderValue(name: string, value: string): string {
  if (!/^[\x21-\x7e]+$/.test(value))
    throw new TypeError(`${name} must have printable ASCII characters only, and no spaces.`)
  return value
}

export interface RawRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** from `/` on, with the query */
  path: string
  /** JSON text */
  body?: string
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** Returns the answer with its unread body. Throws TypeError for a path that is not absolute, and like `api`. */
export async function send(
  { api }: Connection,
  { method, path, body, headers, signal }: RawRequest,
): Promise<Response> {
  if (!path.startsWith('/')) throw new TypeError('path must begin with /.')
  const init = { body, bodySerializer: (text: string) => text, headers, signal, parseAs: 'stream' }
  const { response } = await api.request(method.toLowerCase() as 'get', path as '/v2/me', init as never)
  return response
}
