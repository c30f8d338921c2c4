/** Calls the control plane, and turns failures into errors with advice. Errors contain no request or response content. */
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { ClaimLostError } from '../domain/errors/errors.ts'
import { ControlPlaneRefused, ControlPlaneUnreachable } from './errors.ts'
import { type JsonAnswer, jsonClient } from './http.ts'

/** Claims and heartbeats have separate connections, so that reports don't delay them. */
const LEASE_CONNECTIONS = 16
const REPORT_CONNECTIONS = 16
/** Downloads have separate connections too, because they take long. */
const DOWNLOAD_CONNECTIONS = 16
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
   * Throws ClaimLostError, ControlPlaneRefused and ControlPlaneUnreachable.
   */
  call(path: string, body: object, options?: CallOptions): Promise<unknown>
  /** Downloads a file as a stream, which fails if it is incomplete. `absent` makes the error for a missing file. */
  download(path: string, signal: AbortSignal, absent: (detail: string) => Error): Promise<Readable>
  close(): void
}

export function createCaller({ url, apiKey, callMs = 10_000 }: Address, worker: Worker): Caller {
  const headers = { 'x-api-key': apiKey }
  const leases = jsonClient({ url, headers, connections: LEASE_CONNECTIONS })
  const reports = jsonClient({ url, headers, connections: REPORT_CONNECTIONS })
  const downloads = jsonClient({ url, headers, connections: DOWNLOAD_CONNECTIONS })
  /** performance.now() until which calls pause after Retry-After: lease calls, downloads, other calls */
  const pausedUntil = { leases: 0, downloads: 0, rest: 0 }

  function throwIfPaused(calls: keyof typeof pausedUntil): void {
    const left = pausedUntil[calls] - performance.now()
    if (left > 0)
      throw new ControlPlaneUnreachable(`The control plane asked to be left alone for ${Math.ceil(left / 1000)} s`)
  }

  function refused(answer: JsonAnswer, calls: keyof typeof pausedUntil, longest: number): Error {
    if (answer.retryAfterMs !== null) pausedUntil[calls] = performance.now() + Math.min(answer.retryAfterMs, longest)
    return errorOf(answer, url, worker)
  }

  return {
    async call(path, body, { waitMs = 0, signal, keepsLeaseMs } = {}) {
      const calls = keepsLeaseMs === undefined ? 'rest' : 'leases'
      throwIfPaused(calls)
      const client = path.includes('/') ? reports : leases
      const answer = await client.post(`${worker.path}/${path}`, JSON.stringify(body), callMs + waitMs, signal)
      if (answer.status >= 200 && answer.status < 300) return json(answer.text)
      throw refused(answer, calls, keepsLeaseMs ?? MAX_PAUSE_MS)
    },
    async download(path, signal, absent) {
      throwIfPaused('downloads')
      const answer = await downloads.download(`${worker.path}/${path}`, callMs, signal)
      if (!('status' in answer)) return answer
      const detail = answer.status === 404 ? absence.safeParse(safely(answer.text)).data?.detail : undefined
      throw detail === undefined ? refused(answer, 'downloads', MAX_PAUSE_MS) : absent(detail)
    },
    close() {
      leases.close()
      reports.close()
      downloads.close()
    },
  }
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

function errorOf({ status, text }: JsonAnswer, url: string, worker: Worker): Error {
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
