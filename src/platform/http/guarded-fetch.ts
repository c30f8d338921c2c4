/**
 * The guarded fetch for providers and MCP servers: no private networks, limits on size and time, no repeated requests
 * (README.md).
 */
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { Client, type Dispatcher } from 'undici'
import { withTimeout } from '../async/time-limit.ts'
import { createConnection, type ResolveHost } from './guarded-connect.ts'
import { addressRefusal, hostOf, type OutboundRules } from './outbound-address.ts'
import { OutboundFailure, toNetworkFailure } from './outbound-failure.ts'

/** What oauth4webapi passes to its `customFetch`, and a timeout. */
interface OutboundInit {
  /** default: GET */
  method?: string
  headers?: Record<string, string>
  body?: string | URLSearchParams | null
  signal?: AbortSignal
  /** limits the whole call, from the host look-up to the end of the response; default: 15 s */
  timeoutMs?: number
}

/**
 * Both return a complete body of at most 1 MiB, for any status. Both throw only OutboundFailure: `unreachable` when nothing was
 * sent, `unanswered` when the outcome is unknown, `unusable` for an unacceptable response. An aborted signal counts as a timeout.
 */
export interface Outbound {
  /** Sends one request on a new connection. Returns redirects, does not follow them. */
  fetch(url: string, init?: OutboundInit): Promise<Response>
  /** GET without `authorization`. Follows at most three redirects, each to an allowed address. */
  get(url: string, init?: Omit<OutboundInit, 'method' | 'body'>): Promise<Response>
}

const TIMEOUT_MS = 15_000
const MAX_REDIRECTS = 3
const REDIRECT_STATUSES = [301, 302, 303, 307, 308]

/** `resolve`: host name look-up; default: the system's. */
export function createOutbound(rules: OutboundRules, resolve?: ResolveHost): Outbound {
  return {
    fetch: (url, init = {}) =>
      withRequestTimeout(init, (signal) => {
        requireAllowedAddress(rules, url, 'has')
        return request(url, init, signal)
      }),

    get: (url, init = {}) =>
      withRequestTimeout(init, async (signal) => {
        requireAllowedAddress(rules, url, 'has')
        const { authorization: _, ...headers } = lowerCaseNames(init.headers)
        let at = url
        for (let redirects = 0; ; redirects++) {
          const pendingResponse = request(at, { ...init, headers, method: 'GET', body: null }, signal)
          const response = await pendingResponse.catch((error: OutboundFailure) => {
            if (redirects === 0) throw error
            throw new OutboundFailure(error.kind, `redirects to ${new URL(at).host}, which ${error.message}`)
          })
          const next = redirectTarget(response, at)
          if (!next) return response
          if (redirects === MAX_REDIRECTS) throw new OutboundFailure('unusable', 'redirects too often')
          requireAllowedAddress(rules, next, 'redirects to')
          at = next
        }
      }),
  }

  /** Uses a new undici client: `fetch` repeats a POST after a 421, and a reused connection may break (README.md). */
  async function request(url: string, init: OutboundInit, signal: AbortSignal): Promise<Response> {
    if (signal.aborted) throw timeoutFailure(init, false)
    const target = new URL(url)
    const connection = createConnection(hostOf(target), rules, resolve)
    const client = new Client(target.origin, {
      connect: connection.connect,
      pipelining: 0,
      maxResponseSize: MAX_BODY_BYTES,
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    const stop = () => {
      connection.destroy()
      client.destroy().catch(() => undefined)
    }
    signal.addEventListener('abort', stop)
    try {
      const answer = await client.request({
        method: (init.method ?? 'GET') as Dispatcher.HttpMethod,
        path: target.pathname + target.search,
        headers: { 'user-agent': 'pilothouse', ...lowerCaseNames(init.headers), 'accept-encoding': 'identity' },
        body: init.body ? String(init.body) : null,
      })
      return await readResponse(answer)
    } catch (error) {
      throw signal.aborted ? timeoutFailure(init, connection.isReady()) : toNetworkFailure(error, connection.isReady())
    } finally {
      signal.removeEventListener('abort', stop)
      stop()
    }
  }
}

function requireAllowedAddress(rules: OutboundRules, url: string, how: 'has' | 'redirects to'): void {
  const refusal = addressRefusal(rules, url)
  if (refusal) throw new OutboundFailure('unreachable', `${how} a forbidden address: it ${refusal}`)
}

function redirectTarget(response: Response, from: string): string | null {
  const location = REDIRECT_STATUSES.includes(response.status) ? response.headers.get('location') : null
  if (location === null) return null
  if (!URL.canParse(location, from)) throw new OutboundFailure('unusable', 'redirects to an invalid URL')
  const url = new URL(location, from)
  url.hash = ''
  return url.href
}

function withRequestTimeout<T>(init: OutboundInit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  return withTimeout(init.timeoutMs ?? TIMEOUT_MS, init.signal ?? new AbortController().signal, work)
}

function timeoutFailure(init: OutboundInit, connected: boolean): OutboundFailure {
  const kind = connected ? 'unanswered' : 'unreachable'
  if (init.signal?.aborted) return new OutboundFailure(kind, 'was not waited for any longer')
  const seconds = (init.timeoutMs ?? TIMEOUT_MS) / 1000
  return new OutboundFailure(kind, `${connected ? 'did not answer' : 'could not be reached'} within ${seconds} s`)
}

function lowerCaseNames(headers: Record<string, string> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** Also limits the decompressed body. OAuth documents are far smaller. */
const MAX_BODY_BYTES = 1024 * 1024

const DECOMPRESSORS = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

/** Headers that no longer match the decompressed body. */
const DROPPED_HEADERS = new Set(['content-encoding', 'content-length', 'transfer-encoding'])

/** Passes on errors of the connection and of decompression. */
async function readResponse({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<Response> {
  const bytes = await decompress(new Uint8Array(await body.arrayBuffer()), String(headers['content-encoding'] ?? ''))
  if (statusCode < 200 || statusCode > 599) throw new OutboundFailure('unusable', `answered ${statusCode}`)
  const kept = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (!DROPPED_HEADERS.has(name)) for (const one of [value ?? []].flat()) kept.append(name, one)
  return new Response([204, 205, 304].includes(statusCode) ? null : bytes, { status: statusCode, headers: kept })
}

async function decompress(bytes: Uint8Array<ArrayBuffer>, encoding: string): Promise<Uint8Array<ArrayBuffer>> {
  const name = encoding.trim().toLowerCase()
  if (name === '' || name === 'identity' || bytes.length === 0) return bytes
  const unpack = Object.hasOwn(DECOMPRESSORS, name) ? DECOMPRESSORS[name as keyof typeof DECOMPRESSORS] : null
  if (!unpack) throw new OutboundFailure('unanswered', 'sent an answer that cannot be read (its encoding is not known)')
  return new Uint8Array(await unpack(bytes, { maxOutputLength: MAX_BODY_BYTES }))
}
