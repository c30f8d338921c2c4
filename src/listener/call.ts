/**
 * One call of the protocol, of a listener or a builder: sends it, and turns whatever is not a success into an error that
 * says what to do. What is sent and answered has secrets in it, so errors are made of status, code and field names alone.
 */
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { ClaimLostError } from '../domain/errors/errors.ts'
import { ControlPlaneRefused, ControlPlaneUnreachable } from './errors.ts'
import { type JsonAnswer, jsonClient } from './http.ts'

/** Leases have connections of their own, so that no heartbeat queues up behind reports. */
const LEASE_CONNECTIONS = 16
const REPORT_CONNECTIONS = 16
/** Nor does anything behind downloads, which take long. */
const DOWNLOAD_CONNECTIONS = 16
/** ms, whatever Retry-After says */
const MAX_PAUSE_MS = 60_000

export interface Address {
  /** of the control plane */
  url: string
  apiKey: string
  /** ms that any call has for its answer, beyond what it waits for by itself. Default: 10 s */
  callMs?: number
}

/** Who calls. */
export interface Worker {
  /** what its calls are below: `/v2/listeners/<id>` */
  path: string
  /** for people: `listener` */
  name: string
  /** Why it is refused, for people. */
  refusals: { forbidden: string; planRequired: string; notFound: string }
}

interface CallOptions {
  /** what the call itself may wait before it answers */
  waitMs?: number
  /** ends the call, which then rejects with the signal's reason */
  signal?: AbortSignal | undefined
  /**
   * ms, of a call that leases depend on: it waits no longer than that because it was asked to come back later, and not at
   * all because others were
   */
  keepsLeaseMs?: number
}

export interface Caller {
  /**
   * `path`: below the worker's own: `claims`, `heartbeat`, or `claims/<id>/…` for reports. Answers the body as
   * JSON (undefined: there is none). Throws ClaimLostError, ControlPlaneRefused and ControlPlaneUnreachable.
   */
  call(path: string, body: object, options?: CallOptions): Promise<unknown>
  /**
   * What is to be had there, as bytes: they end with an error when they are not whole. `absent`: what is thrown when there
   * is nothing, of what the control plane says of it. Throws as `call` otherwise.
   */
  download(path: string, signal: AbortSignal, absent: (said: string) => Error): Promise<Readable>
  close(): void
}

export function createCaller({ url, apiKey, callMs = 10_000 }: Address, worker: Worker): Caller {
  const headers = { 'x-api-key': apiKey }
  const leases = jsonClient({ url, headers, connections: LEASE_CONNECTIONS })
  const reports = jsonClient({ url, headers, connections: REPORT_CONNECTIONS })
  const downloads = jsonClient({ url, headers, connections: DOWNLOAD_CONNECTIONS })
  /** performance.now() until when the control plane wants to be left alone, by what keeps leases, by downloads, and by all else */
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
      const said = answer.status === 404 ? absence.safeParse(safely(answer.text)).data?.detail : undefined
      throw said === undefined ? refused(answer, 'downloads', MAX_PAUSE_MS) : absent(said)
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
    throw new ControlPlaneRefused('The control plane answered something that is not JSON: see CONTROL_PLANE_URL.')
  }
}

/** Of an error's body (docs/api-rules.md#errors) only what can't have anything of the request's content in it. */
const errorBody = z.object({
  code: z.string().regex(/^[A-Z_]{1,40}$/),
  detail: z.array(z.object({ loc: z.array(z.union([z.string(), z.number()])) })).catch([]),
})

/** That something is not there, in words for people. */
const absence = z.object({ code: z.literal('NOT_FOUND'), detail: z.string() })

function errorOf({ status, text }: JsonAnswer, url: string, worker: Worker): Error {
  const body = errorBody.safeParse(safely(text)).data
  if (status === 409 && body?.code === 'CLAIM_LOST') return new ClaimLostError()
  if (status === 408 || status === 429 || status >= 500)
    return new ControlPlaneUnreachable(`The control plane answered ${status}`)
  return new ControlPlaneRefused(body ? reasonOf(status, body, worker) : notOurs(status, url, worker), status)
}

/** Anybody on the way can answer with a status; only the control plane knows its own codes. */
const notOurs = (status: number, url: string, { name }: Worker) =>
  `What answers at ${url} (status ${status}) is no control plane with ${name}s: see CONTROL_PLANE_URL.`

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
      return `The control plane does not understand this ${name}${which}: update whichever of the two is older.`
    }
    default:
      return `The control plane refuses the call: ${status} ${code}.`
  }
}

/** The protocol's own names of fields, and positions. */
const isName = (part: string | number) => /^[a-z0-9_]{1,40}$/.test(String(part))

function safely(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
