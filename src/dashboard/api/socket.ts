/**
 * All subscriptions of this tab over one WebSocket (docs/decisions/0032-one-websocket-per-tab.md).
 * A broken subscription resumes after its last `cursor`, if its document has `$after` and selects `cursor`.
 */
import { type Client, createClient } from 'graphql-ws'
import { sessionExpired, sessionHeaders } from './session.ts'
import { createStore, useStore } from './store.ts'

/** Backoff between attempts: it doubles from the minimum to the maximum. */
const RETRY_MIN_MS = 500
const RETRY_MAX_MS = 15_000
/** An unused socket stays open this long: the next page may need it. */
const IDLE_CLOSE_MS = 5_000
/** Silence before a ping, and the time for its answer. */
const PING_INTERVAL_MS = 15_000
const PING_TIMEOUT_MS = 8_000
/** The close code for an ended session or a revoked key. */
const FORBIDDEN_CLOSE_CODE = 4403

/** Errors after which the subscription is retried. */
const RESUMABLE = ['STREAM_OVERFLOW', 'UNAVAILABLE', 'RATE_LIMITED', 'INTERNAL']

/** idle: no subscription is open. lost: the connection broke or failed, and is retried. */
type ConnectionState = 'idle' | 'connecting' | 'live' | 'lost'

const connection = createStore<{ state: ConnectionState; since: number }>({ state: 'idle', since: Date.now() })
export const useConnection = () => useStore(connection)

function setConnectionState(state: ConnectionState): void {
  if (connection.get().state !== state) connection.set({ state, since: Date.now() })
}

export interface StreamError {
  message: string
  extensions?: { code?: string; cursor?: string }
}

interface Sink {
  next(result: { data?: Record<string, unknown> | null; errors?: readonly StreamError[] }): void
  error(errors: readonly StreamError[]): void
  complete(): void
}

export interface Socket {
  /** Returns the function that unsubscribes. */
  subscribe(query: string, variables: Record<string, unknown>, sink: Sink): () => void
  close(): void
}

export function createSocket(workspace: string): Socket {
  const waiting = new Set<() => void>()
  const client = open(workspace, () => {
    for (const again of [...waiting]) again()
  })
  const wake = () => {
    if (document.visibilityState === 'visible') for (const again of [...waiting]) again()
  }
  addEventListener('online', wake)
  document.addEventListener('visibilitychange', wake)
  return {
    subscribe: (query, variables, sink) => startSubscription({ client, query, variables, sink, waiting }),
    close() {
      removeEventListener('online', wake)
      document.removeEventListener('visibilitychange', wake)
      waiting.clear()
      // rejects if a connection that is being opened fails
      void Promise.resolve(client.dispose()).catch(() => undefined)
      setConnectionState('idle')
    },
  }
}

function open(workspace: string, connected: () => void): Client {
  let asked: ReturnType<typeof setTimeout> | undefined
  const client = createClient({
    url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/graphql`,
    connectionParams: () => ({ ...sessionHeaders(), 'x-tenant-id': workspace }),
    lazyCloseTimeout: IDLE_CLOSE_MS,
    keepAlive: PING_INTERVAL_MS,
    // each subscription resumes by itself, with its cursor
    retryAttempts: 0,
    shouldRetry: () => false,
    onNonLazyError: () => undefined,
    on: {
      connected() {
        setConnectionState('live')
        connected()
      },
      ping(received) {
        if (!received) asked = setTimeout(() => client.terminate(), PING_TIMEOUT_MS)
      },
      pong(received) {
        if (received) clearTimeout(asked)
      },
      closed(event) {
        clearTimeout(asked)
        const { code = 0, wasClean = false } = (event ?? {}) as { code?: number; wasClean?: boolean }
        if (code === FORBIDDEN_CLOSE_CODE) sessionExpired()
        setConnectionState(code === 1000 && wasClean ? 'idle' : 'lost')
      },
    },
  })
  return client
}

interface SubscriptionOptions {
  client: Client
  query: string
  variables: Record<string, unknown>
  sink: Sink
  /** retries that wait for their timer; called early when the connection is back */
  waiting: Set<() => void>
}

function startSubscription({ client, query, variables, sink, waiting }: SubscriptionOptions): () => void {
  let after = variables.after
  let failures = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let leave: () => void = () => undefined
  let over = false

  function subscribe(): void {
    clearTimeout(timer)
    waiting.delete(subscribe)
    const now = after === undefined || after === null ? variables : { ...variables, after }
    leave = client.subscribe<Record<string, unknown>>(
      { query, variables: now },
      {
        next(result) {
          failures = 0
          const cursor = cursorOf(result.data)
          if (cursor !== null && 'after' in variables) after = cursor
          sink.next(result as Parameters<Sink['next']>[0])
        },
        error: failed,
        complete() {
          if (over) return
          over = true
          sink.complete()
        },
      },
    )
  }

  function failed(error: unknown): void {
    if (over) return
    if (!Array.isArray(error)) {
      again()
      return
    }
    const errors = error as readonly StreamError[]
    const { code = 'INTERNAL', cursor } = errors[0]?.extensions ?? {}
    if (code === 'UNAUTHENTICATED') {
      sessionExpired()
      return
    }
    if (!RESUMABLE.includes(code)) {
      over = true
      sink.error(errors)
      return
    }
    if (cursor !== undefined && 'after' in variables) after = cursor
    again()
  }

  function again(): void {
    waiting.add(subscribe)
    const wait = Math.min(RETRY_MIN_MS * 2 ** failures++, RETRY_MAX_MS)
    // jitter, so that not all tabs reconnect together
    timer = setTimeout(subscribe, wait * (0.5 + Math.random() / 2))
  }

  subscribe()
  return () => {
    over = true
    clearTimeout(timer)
    waiting.delete(subscribe)
    leave()
  }
}

function cursorOf(data: Record<string, unknown> | null | undefined): string | null {
  const [field] = Object.values(data ?? {})
  const cursor = (field as { cursor?: unknown } | null | undefined)?.cursor
  return typeof cursor === 'string' ? cursor : null
}
