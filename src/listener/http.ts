/** Posts JSON to the control plane and downloads from it. Without a response it throws ControlPlaneUnreachable. */
import type { Readable } from 'node:stream'
import { AbortScope } from '../platform/async/time-limit.ts'
import { ConnectionError, HttpClient, type HttpRequest, type HttpResponse, readText } from '../platform/http/client.ts'
import { ControlPlaneUnreachable } from './errors.ts'

/** timeout of a connection attempt in ms */
const CONNECT_TIMEOUT_MS = 10_000
/** bytes of one response: far above all claims of one call */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024

export interface JsonAnswer {
  status: number
  /** Retry-After in ms; null: absent */
  retryAfterMs: number | null
  text: string
}

export interface JsonClient {
  /** Throws ControlPlaneUnreachable without a response within `limitMs`, and the signal's reason when it aborts. */
  post(path: string, body: string, limitMs: number, signal?: AbortSignal): Promise<JsonAnswer>
  /** `limitMs`: until the response headers; then only the signal aborts. A status other than 200 returns text. */
  download(path: string, limitMs: number, signal: AbortSignal): Promise<Readable | JsonAnswer>
  close(): void
}

export interface JsonClientOptions {
  url: string
  headers: Record<string, string>
  connections: number
}

export function jsonClient({ url, headers, connections }: JsonClientOptions): JsonClient {
  const base = url.replace(/\/+$/, '')
  const { origin, pathname } = new URL(base)
  const client = new HttpClient({ origin, connections, connectMs: CONNECT_TIMEOUT_MS })

  const target = (path: string) => pathname.replace(/\/+$/, '') + path
  const json = async ({ status, headers, body }: HttpResponse): Promise<JsonAnswer> => {
    const text = await readText(body, MAX_RESPONSE_BYTES)
    return { status, retryAfterMs: retryAfter(headers['retry-after']), text }
  }

  /** Retries on a new connection if the server had closed the kept one. */
  async function send(request: Omit<HttpRequest, 'signal'>, { signal }: AbortScope): Promise<HttpResponse> {
    const once = () => client.send({ ...request, signal })
    return once().catch((error) => {
      if (error instanceof ConnectionError && error.stale) return once()
      throw error
    })
  }

  function failure(error: unknown, scope: AbortScope): unknown {
    if (scope.late) {
      client.renew()
      return unreachable(base, 'no answer in time')
    }
    if (scope.signal.aborted) return scope.signal.reason
    return unreachable(base, error instanceof ConnectionError ? error.code : (error as Error).message)
  }

  return {
    async post(path, body, limitMs, signal) {
      const scope = new AbortScope(signal)
      scope.limit(limitMs)
      try {
        const type = { accept: 'application/json', 'content-type': 'application/json' }
        const request = { method: 'POST' as const, path: target(path), headers: { ...headers, ...type }, body }
        return await json(await send(request, scope))
      } catch (error) {
        throw failure(error, scope)
      } finally {
        scope.end()
      }
    },
    async download(path, limitMs, signal) {
      const scope = new AbortScope(signal)
      scope.limit(limitMs)
      try {
        const answer = await send({ method: 'GET', path: target(path), headers }, scope)
        if (answer.status === 200) {
          // no timeout for the body; the signal ends it
          scope.unlimited()
          answer.body.once('close', () => scope.end())
          return answer.body
        }
        const said = await json(answer)
        scope.end()
        return said
      } catch (error) {
        scope.end()
        throw failure(error, scope)
      }
    },
    close: () => client.destroy(),
  }
}

function unreachable(base: string, why: string): ControlPlaneUnreachable {
  return new ControlPlaneUnreachable(`The control plane at ${base} can't be reached (${why})`)
}

/** Seconds or a date (RFC 9110, 10.2.3) → ms from now. */
function retryAfter(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string') return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}
