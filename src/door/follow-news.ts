/** Calls a server for the doors of a cluster: follows its news by an event stream, which it opens again, and sends samples. */
import type { JsonWebKey } from 'node:crypto'
import { createInterface } from 'node:readline'
import type { ClusterNews } from '../dataplane/process/door/messages.ts'
import { backoff, sleep } from '../platform/async/retry.ts'
import { withTimeout } from '../platform/async/time-limit.ts'
import { HttpClient, readText } from '../platform/http/client.ts'
import type { Log } from '../platform/log/log.ts'
import { createRecurringFailure } from '../platform/log/recurring-failure.ts'

/** Servers send news every 2 s. A server that is silent for longer than this, in ms, may be gone. */
const SILENCE_MS = 4000
const CONNECT_MS = 2000
/** time limit of a request with samples */
const SEND_MS = 10_000
const MAX_PAUSE_MS = 1000
const MAX_ERROR_BYTES = 100_000
const DATA = 'data: '

export interface Server {
  /** of a server, or of the Service in front of all servers */
  url: string
  token: string
}

export interface FollowOptions extends Server {
  /** public key of the tokens that agents get */
  callerKey: JsonWebKey & { kid: string }
  /** hash of the copy that the door has */
  known(): string | null
  /** False: the copy is needed. */
  take(news: ClusterNews): boolean
  /** Why there are no news. */
  onProblem(text: string): void
  log: Log
  signal: AbortSignal
}

/** Resolves when the signal aborts. */
export async function followNews(options: FollowOptions): Promise<void> {
  const { url, log, signal, onProblem } = options
  const failure = createRecurringFailure(log, {}, 'the door gets no news from a server, and goes on with the last ones')
  for (let failures = 0; !signal.aborted; failures++) {
    // a new client: the next connection may reach another server
    const client = clientOf(url)
    try {
      await readStream(client, options, () => {
        failures = 0
        failure.worked()
      })
    } catch (error) {
      if (signal.aborted) return
      const text = error instanceof Error ? error.message : String(error)
      onProblem(`no news from a server: ${text}`)
      failure.failed(text)
    } finally {
      client.destroy()
    }
    await sleep(backoff(failures, 50, MAX_PAUSE_MS, 0.5), signal)
  }
}

/** Sends samples of deployments in one request. Rejects when the server did not store them. */
export async function sendSamples(server: Server, samples: object, signal: AbortSignal): Promise<void> {
  const client = clientOf(server.url)
  try {
    await withTimeout(SEND_MS, signal, (inTime) => post(client, server, '/metrics', samples, inTime))
  } finally {
    client.destroy()
  }
}

const clientOf = (url: string) => new HttpClient({ origin: new URL(url).origin, connectMs: CONNECT_MS })

async function post(client: HttpClient, { url, token }: Server, path: string, body: object, signal: AbortSignal) {
  const response = await client.send({
    method: 'POST',
    path: `${new URL(url).pathname.replace(/\/+$/, '')}/internal/door${path}`,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  })
  const { status } = response
  if (status >= 300) throw new Error(refusal(status, await readText(response.body, MAX_ERROR_BYTES)))
  return response.body
}

async function readStream(client: HttpClient, options: FollowOptions, onNews: () => void): Promise<void> {
  const { callerKey, known, take, signal } = options
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(new Error(`the server was silent for ${SILENCE_MS} ms`)), SILENCE_MS)
  try {
    const opening = { known: known(), caller_key: callerKey }
    const body = await post(client, options, '', opening, AbortSignal.any([signal, silence.signal]))
    for await (const line of createInterface({ input: body })) {
      timer.refresh()
      if (!line.startsWith(DATA)) continue
      // the next stream sends the copy
      if (!take(JSON.parse(line.slice(DATA.length)) as ClusterNews)) throw new Error('the copy is missing')
      onNews()
    }
    throw new Error('the server ended the stream')
  } finally {
    clearTimeout(timer)
  }
}

function refusal(status: number, text: string): string {
  if (status === 401) return 'the server refuses DOOR_TOKEN'
  if (status === 404) return 'the server has no DOOR_TOKEN, or is of an earlier version'
  return `the server answered ${status} ${text.slice(0, 200)}`
}
