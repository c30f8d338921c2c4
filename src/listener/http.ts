/**
 * POSTs JSON over connections that are kept. Node's own client and not `fetch`: it bounds the connections, follows
 * no redirect (which would carry the key elsewhere), and its abort does not depend on what the garbage collector
 * has seen.
 */
import http from 'node:http'
import https from 'node:https'
import { ControlPlaneUnreachable } from './errors.ts'

export interface HttpAnswer {
  status: number
  /** what the server asked us to wait (Retry-After), in ms; null: it did not say */
  retryAfterMs: number | null
  text: string
}

export interface HttpClient {
  /**
   * Answers whatever the server said. Throws ControlPlaneUnreachable when it said nothing within `limitMs`, and the
   * signal's reason when that aborts.
   */
  post(path: string, body: string, limitMs: number, signal?: AbortSignal): Promise<HttpAnswer>
  close(): void
}

export interface HttpClientOptions {
  /** what every path is below */
  url: string
  /** go with every request */
  headers: Record<string, string>
  /** at a time; more calls than that queue up */
  connections: number
}

export function httpClient({ url, headers, connections }: HttpClientOptions): HttpClient {
  const base = url.replace(/\/+$/, '')
  const transport = base.startsWith('https:') ? https : http
  const agent = new transport.Agent({ keepAlive: true, maxSockets: connections })

  function once(path: string, body: string, limitMs: number, signal?: AbortSignal): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const request = transport.request(base + path, {
        method: 'POST',
        agent,
        headers: {
          ...headers,
          accept: 'application/json',
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      })
      const late = setTimeout(() => {
        end(unreachable(base, 'no answer in time'))
        // the other kept connections may be just as dead
        for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy()
      }, limitMs)
      const abort = () => end(signal!.reason)
      signal?.addEventListener('abort', abort, { once: true })
      const release = () => {
        clearTimeout(late)
        signal?.removeEventListener('abort', abort)
      }
      const end = (reason: unknown) => {
        release()
        reject(reason)
        request.destroy()
      }
      // a kept connection that the server has just closed: nothing was lost, a new one will do
      request.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
        const stale = request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(code)
        end(stale ? new StaleConnection() : unreachable(base, code))
      })
      request.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', (error: NodeJS.ErrnoException) => end(unreachable(base, error.code)))
        response.on('end', () => {
          release()
          resolve({
            status: response.statusCode!,
            retryAfterMs: retryAfter(response.headers['retry-after']),
            text: Buffer.concat(chunks).toString(),
          })
        })
      })
      request.end(body)
    })
  }

  return {
    async post(path, body, limitMs, signal) {
      signal?.throwIfAborted()
      try {
        return await once(path, body, limitMs, signal)
      } catch (error) {
        if (error instanceof StaleConnection) return once(path, body, limitMs, signal)
        throw error
      }
    },
    close: () => agent.destroy(),
  }
}

class StaleConnection extends ControlPlaneUnreachable {
  constructor() {
    super('The connection to the control plane was closed')
  }
}

function unreachable(base: string, why: string | undefined): ControlPlaneUnreachable {
  return new ControlPlaneUnreachable(`The control plane at ${base} can't be reached (${why || 'connection broken'})`)
}

/** Seconds or a date (RFC 9110, 10.2.3) → ms from now on. */
function retryAfter(header: string | undefined): number | null {
  if (header === undefined) return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}
