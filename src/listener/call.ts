/** Calls the control plane, and turns failures into errors with advice. Messages have only codes and field names, no content. */
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { ClaimLostError } from '../domain/errors/errors.ts'
import { AbortScope } from '../platform/async/time-limit.ts'
import { ConnectionError, HttpClient, readText } from '../platform/http/client.ts'

/** Claims and heartbeats have separate connections, so that reports don't delay them. Downloads too: they take long. */
const CONNECTIONS = 16
/** timeout of a connection attempt in ms */
const CONNECT_TIMEOUT_MS = 10_000
/** bytes of one response: far above all claims of one call */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024
/** ms; longest Retry-After that is respected */
const MAX_PAUSE_MS = 60_000

export interface Address {
  url: string
  apiKey: string
  /** ms for a response, in addition to the call's own wait. Default: 10 s */
  callMs?: number
}

export interface Worker {
  /** path prefix of its calls: `/v2/listeners/<id>` */
  path: string
  /** program name for messages: `listener` */
  name: string
  refusals: { forbidden: string; planRequired: string; notFound: string }
}

interface CallOptions {
  /** ms that the control plane may hold the call */
  waitMs?: number
  signal?: AbortSignal | undefined
  /** for a call that keeps leases: ms that it respects its own Retry-After, and no other call's */
  keepsLeaseMs?: number
}

export interface Caller {
  /**
   * `path`: below the worker's path. Returns the JSON body, or undefined.
   * Throws ClaimLostError, ControlPlaneRefused, ControlPlaneUnreachable, and the signal's reason.
   */
  call(path: string, body: object, options?: CallOptions): Promise<unknown>
  /**
   * Downloads a file as a stream, which fails if it is incomplete. Only the signal limits its duration. `absent` makes the
   * error for a missing file.
   */
  download(path: string, signal: AbortSignal, absent: (detail: string) => Error): Promise<Readable>
  close(): void
}

interface Answer {
  status: number
  /** Retry-After in ms; null: absent */
  retryAfterMs: number | null
  text: string
}

export function createCaller({ url, apiKey, callMs = 10_000 }: Address, worker: Worker): Caller {
  const base = url.replace(/\/+$/, '')
  const { origin, pathname } = new URL(base)
  const client = () => new HttpClient({ origin, connections: CONNECTIONS, connectMs: CONNECT_TIMEOUT_MS })
  const clients = { leases: client(), reports: client(), downloads: client() }
  /** performance.now() until which calls pause after Retry-After: lease calls, downloads, other calls */
  const pausedUntil = { leases: 0, downloads: 0, rest: 0 }

  function throwIfPaused(calls: keyof typeof pausedUntil): void {
    const left = pausedUntil[calls] - performance.now()
    if (left > 0)
      throw new ControlPlaneUnreachable(`The control plane asked to be left alone for ${Math.ceil(left / 1000)} s`)
  }

  function refused(answer: Answer, calls: keyof typeof pausedUntil, longest: number): Error {
    if (answer.retryAfterMs !== null) pausedUntil[calls] = performance.now() + Math.min(answer.retryAfterMs, longest)
    return errorOf(answer, url, worker)
  }

  /** Returns the answer within `limitMs`. A download with status 200 returns its body, without a limit. */
  async function send(
    calls: keyof typeof clients,
    path: string,
    body: string | undefined,
    limitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Answer | Readable> {
    const http = clients[calls]
    const scope = new AbortScope(signal)
    scope.limit(limitMs)
    const type = body === undefined ? {} : { accept: 'application/json', 'content-type': 'application/json' }
    const once = () =>
      http.send({
        method: body === undefined ? 'GET' : 'POST',
        path: `${pathname.replace(/\/+$/, '')}${worker.path}/${path}`,
        headers: { 'x-api-key': apiKey, ...type },
        ...(body === undefined ? {} : { body }),
        signal: scope.signal,
      })
    let isStreamed = false
    try {
      const response = await once().catch((error) => {
        // the server had closed the kept connection
        if (error instanceof ConnectionError && error.stale) return once()
        throw error
      })
      const { status, headers } = response
      if (calls === 'downloads' && status === 200) {
        isStreamed = true
        scope.unlimited()
        return response.body.once('close', () => scope.end())
      }
      const text = await readText(response.body, MAX_RESPONSE_BYTES)
      return { status, retryAfterMs: retryAfter(headers['retry-after']), text }
    } catch (error) {
      if (scope.late) http.renew()
      else if (scope.signal.aborted) throw scope.signal.reason
      const cause = error instanceof ConnectionError ? error.code : (error as Error).message
      const why = scope.late ? 'no answer in time' : cause
      throw new ControlPlaneUnreachable(`The control plane at ${base} can't be reached (${why})`)
    } finally {
      if (!isStreamed) scope.end()
    }
  }

  return {
    async call(path, body, { waitMs = 0, signal, keepsLeaseMs } = {}) {
      const calls = keepsLeaseMs === undefined ? 'rest' : 'leases'
      throwIfPaused(calls)
      const connections = path.includes('/') ? 'reports' : 'leases'
      const answer = (await send(connections, path, JSON.stringify(body), callMs + waitMs, signal)) as Answer
      if (answer.status >= 200 && answer.status < 300) return json(answer.text)
      throw refused(answer, calls, keepsLeaseMs ?? MAX_PAUSE_MS)
    },
    async download(path, signal, absent) {
      throwIfPaused('downloads')
      const answer = await send('downloads', path, undefined, callMs, signal)
      if (!('status' in answer)) return answer
      const detail = answer.status === 404 ? absence.safeParse(safely(answer.text)).data?.detail : undefined
      throw detail === undefined ? refused(answer, 'downloads', MAX_PAUSE_MS) : absent(detail)
    },
    close() {
      for (const http of Object.values(clients)) http.destroy()
    },
  }
}

/** Seconds or a date (RFC 9110, 10.2.3) → ms from now. */
function retryAfter(header: string | string[] | undefined): number | null {
  if (typeof header !== 'string') return null
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? null : Math.max(0, ms)
}

function json(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    throw new ControlPlaneRefused('The response of the control plane is not JSON: see CONTROL_PLANE_URL.')
  }
}

/** The parts of an error's body (docs/api-rules.md#errors) that can't contain request content. */
const errorBody = z.object({
  code: z.string().regex(/^[A-Z_]{1,40}$/),
  detail: z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])) })).catch([]),
})

/** Error body of a missing file, with a message for users. */
const absence = z.object({ code: z.literal('NOT_FOUND'), detail: z.string() })

function errorOf({ status, text }: Answer, url: string, worker: Worker): Error {
  const body = errorBody.safeParse(safely(text)).data
  if (status === 409 && body?.code === 'CLAIM_LOST') return new ClaimLostError()
  if (status === 408 || status === 429 || status >= 500)
    return new ControlPlaneUnreachable(`The control plane answered ${status}`)
  return new ControlPlaneRefused(body ? reasonOf(status, body, worker) : notOurs(status, url, worker), status)
}

/** A proxy can return any status; only the control plane returns its own codes. */
const notOurs = (status: number, url: string, { name }: Worker) =>
  `The server at ${url} (status ${status}) is no control plane with ${name}s: see CONTROL_PLANE_URL.`

function reasonOf(status: number, { code, detail }: z.output<typeof errorBody>, { name, refusals }: Worker): string {
  switch (status) {
    case 401:
      return 'The control plane refuses the key: it is unknown, expired or was revoked. See CONTROL_PLANE_API_KEY.'
    case 403:
      return code === 'PLAN_REQUIRED' ? refusals.planRequired : refusals.forbidden
    case 404:
      return refusals.notFound
    case 422: {
      const fields = detail.slice(0, 3).map(({ loc }) => loc.filter(isName).join('.'))
      const which = fields.length > 0 ? ` (${[...new Set(fields)].join(', ')})` : ''
      return `The control plane does not understand this ${name}${which}: update the older of the two.`
    }
    default:
      return `The control plane refuses the call: ${status} ${code}.`
  }
}

/** Field names of the protocol, and positions. */
const isName = (part: string | number) => /^[a-z0-9_]{1,40}$/.test(String(part))

function safely(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A retry fails until someone fixes the key, id, address or version. */
export class ControlPlaneRefused extends Error {
  override name = 'ControlPlaneRefused'
  /** HTTP status; null: the response itself was unusable */
  readonly status: number | null

  constructor(message: string, status: number | null = null) {
    super(message)
    this.status = status
  }
}

/** The control plane was unreachable, timed out, or returned 5xx or 429. A retry may succeed. */
export class ControlPlaneUnreachable extends Error {
  override name = 'ControlPlaneUnreachable'
}
