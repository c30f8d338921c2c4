/**
 * POSTs JSON to the control plane. Answers whatever it said; that it said nothing, or could not be reached, is
 * ControlPlaneUnreachable.
 */
import { Scope } from '../platform/async/time-limit.ts'
import { ConnectionError, HttpClient, textOf } from '../platform/http/client.ts'
import { ControlPlaneUnreachable } from './errors.ts'

/** ms in which a connection has to be made */
const CONNECT = 10_000
/** bytes of one answer: far more than all that can be claimed at a time */
const LARGEST_ANSWER = 64 * 1024 * 1024

export interface JsonAnswer {
  status: number
  /** what the server asked us to wait (Retry-After), in ms; null: it did not say */
  retryAfterMs: number | null
  text: string
}

export interface JsonClient {
  /**
   * Throws ControlPlaneUnreachable when there is no answer within `limitMs`, and the signal's reason when that aborts.
   */
  post(path: string, body: string, limitMs: number, signal?: AbortSignal): Promise<JsonAnswer>
  close(): void
}

export interface JsonClientOptions {
  /** what every path is below */
  url: string
  /** go with every request */
  headers: Record<string, string>
  /** at a time; more calls than that queue up */
  connections: number
}

export function jsonClient({ url, headers, connections }: JsonClientOptions): JsonClient {
  const base = url.replace(/\/+$/, '')
  const { origin, pathname } = new URL(base)
  const client = new HttpClient({ origin, connections, connectMs: CONNECT })

  async function once(path: string, body: string, scope: Scope): Promise<JsonAnswer> {
    const answer = await client.send({
      method: 'POST',
      path: pathname.replace(/\/+$/, '') + path,
      headers: { ...headers, accept: 'application/json', 'content-type': 'application/json' },
      body,
      signal: scope.signal,
    })
    const text = await textOf(answer.body, LARGEST_ANSWER)
    return { status: answer.status, retryAfterMs: retryAfter(answer.headers['retry-after']), text }
  }

  return {
    async post(path, body, limitMs, signal) {
      const scope = new Scope(signal)
      scope.limit(limitMs)
      try {
        return await once(path, body, scope).catch((error) => {
          if (error instanceof ConnectionError && error.stale) return once(path, body, scope)
          throw error
        })
      } catch (error) {
        if (scope.late) {
          client.renew()
          throw unreachable(base, 'no answer in time')
        }
        if (scope.signal.aborted) throw scope.signal.reason
        throw unreachable(base, error instanceof ConnectionError ? error.code : (error as Error).message)
      } finally {
        scope.end()
      }
    },
    close: () => client.destroy(),
  }
}

function unreachable(base: string, why: string): ControlPlaneUnreachable {
  return new ControlPlaneUnreachable(`The control plane at ${base} can't be reached (${why})`)
}

/** Seconds or a date (RFC 9110, 10.2.3) → ms from now on. */
function retryAfter(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string') return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}
