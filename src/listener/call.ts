/**
 * One call of the protocol: sends it, and turns whatever is not a success into an error that says what to do. What
 * is sent and answered has secrets in it, so errors are made of status, code and field names alone.
 */
import { z } from 'zod'
import { ClaimLostError } from '../domain/core/errors.ts'
import { ControlPlaneRefused, ControlPlaneUnreachable } from './errors.ts'
import { type JsonAnswer, jsonClient } from './http.ts'

/** Leases have connections of their own, so that no heartbeat queues up behind reports. */
const LEASE_CONNECTIONS = 16
const REPORT_CONNECTIONS = 16
/** ms, whatever Retry-After says: leases end meanwhile */
const LONGEST_PAUSE = 60_000

export interface Address {
  /** of the control plane */
  url: string
  apiKey: string
  listenerId: string
  /** ms that any call has for its answer, beyond what it waits for by itself. Default: 10 s */
  callMs?: number
}

interface CallOptions {
  /** what the call itself may wait before it answers */
  waitMs?: number
  /** ends the call, which then rejects with the signal's reason */
  signal?: AbortSignal | undefined
}

export interface Caller {
  /**
   * `path`: below the listener's own: `claims`, `heartbeat`, or `claims/<id>/…` for reports. Answers the body as
   * JSON (undefined: there is none). Throws ClaimLostError, ControlPlaneRefused and ControlPlaneUnreachable.
   */
  call(path: string, body: object, options?: CallOptions): Promise<unknown>
  close(): void
}

export function createCaller(address: Address): Caller {
  const { url, apiKey, listenerId, callMs = 10_000 } = address
  const headers = { 'x-api-key': apiKey }
  const leases = jsonClient({ url, headers, connections: LEASE_CONNECTIONS })
  const reports = jsonClient({ url, headers, connections: REPORT_CONNECTIONS })
  /** performance.now() until when the control plane wants to be left alone */
  let pausedUntil = 0

  return {
    async call(path, body, { waitMs = 0, signal } = {}) {
      const left = pausedUntil - performance.now()
      if (left > 0)
        throw new ControlPlaneUnreachable(`The control plane asked to be left alone for ${Math.ceil(left / 1000)} s`)
      const target = `/v2/listeners/${listenerId}/${path}`
      const client = path.includes('/') ? reports : leases
      const answer = await client.post(target, JSON.stringify(body), callMs + waitMs, signal)
      if (answer.status >= 200 && answer.status < 300) return json(answer.text)
      if (answer.retryAfterMs !== null) pausedUntil = performance.now() + Math.min(answer.retryAfterMs, LONGEST_PAUSE)
      throw errorOf(answer, address)
    },
    close() {
      leases.close()
      reports.close()
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

function errorOf({ status, text }: JsonAnswer, { url, listenerId }: Address): Error {
  const body = errorBody.safeParse(safely(text)).data
  if (status === 409 && body?.code === 'CLAIM_LOST') return new ClaimLostError()
  if (status === 408 || status === 429 || status >= 500)
    return new ControlPlaneUnreachable(`The control plane answered ${status}`)
  return new ControlPlaneRefused(body ? reasonOf(status, body, listenerId) : notOurs(status, url), status)
}

/** Anybody on the way can answer with a status; only the control plane knows its own codes. */
const notOurs = (status: number, url: string) =>
  `What answers at ${url} (status ${status}) is no control plane with listeners: see CONTROL_PLANE_URL.`

function reasonOf(status: number, { code, detail }: z.output<typeof errorBody>, listenerId: string): string {
  switch (status) {
    case 401:
      return 'The control plane refuses the key: it is unknown, expired or was revoked. See CONTROL_PLANE_API_KEY.'
    case 403:
      return code === 'PLAN_REQUIRED'
        ? 'The organization’s plan has no listeners.'
        : 'The control plane refuses the key for this work: it must be one of role `listener`. See CONTROL_PLANE_API_KEY.'
    case 404:
      return `For this key there is no listener ${listenerId}: see LISTENER_ID and CONTROL_PLANE_API_KEY.`
    case 422: {
      const fields = detail.slice(0, 3).map(({ loc }) => loc.filter(isName).join('.'))
      const which = fields.length > 0 ? ` (${[...new Set(fields)].join(', ')})` : ''
      return `The control plane does not understand this listener${which}: update whichever of the two is older.`
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
