/** A stream of server-sent events that resumes after the last yielded item when its connection breaks (README.md). */
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { PilothouseError, UnreachableError } from './errors.ts'
import { Backoff, type RetryOptions } from './retry.ts'

export interface StreamSource {
  /** Opens the stream after `cursor`; null: at its default start. Throws errors that retries don't fix. */
  open(cursor: string | null, signal: AbortSignal): Promise<Response>
  retry: RetryOptions
  origin: string
  /** the cursor to start after */
  after?: string
  signal?: AbortSignal
}

export const streamHeaders = (cursor: string | null): Record<string, string> => ({
  Accept: 'text/event-stream',
  ...(cursor === null ? {} : { 'Last-Event-ID': cursor }),
})

/** A connection without a byte for this long is dead: the server sends something every 15 seconds. */
const SILENCE_TIMEOUT_MS = 45_000
/** A connection that lasted this long counts as a success, even without items. */
const STABLE_CONNECTION_MS = 10_000
const MAX_ITEM_CHARS = 16 * 1024 * 1024

/**
 * Yields items until the event `complete`. Throws PilothouseError if the stream can't resume (a revoked key, a cursor that is too old),
 * UnreachableError after `retryForMs`, and the reason of `signal`.
 */
export async function* resumingStream(source: StreamSource): AsyncGenerator<EventSourceMessage, void> {
  const { open, retry, origin, signal } = source
  const backoff = new Backoff(retry)
  let cursor = source.after ?? null
  for (;;) {
    const connection = new AbortController()
    const connectionSignal = signal ? AbortSignal.any([signal, connection.signal]) : connection.signal
    let failure: PilothouseError | UnreachableError
    const response = await open(cursor, connectionSignal)
    const openedAt = performance.now()
    try {
      for await (const item of readItems(response)) {
        // an event `error` also has the id to resume after
        if (item.id) cursor = item.id
        if (item.event === START) continue
        if (item.event === 'complete') return
        if (item.event === 'error') throw parseStreamError(item.data)
        backoff.reset()
        yield item
      }
      failure = new UnreachableError(origin, null)
    } catch (error) {
      signal?.throwIfAborted()
      failure = error instanceof PilothouseError ? error : new UnreachableError(origin, error)
    } finally {
      connection.abort()
    }
    if (failure instanceof PilothouseError && !RESUMABLE.has(failure.code)) throw failure
    if (performance.now() - openedAt > STABLE_CONNECTION_MS) backoff.reset()
    if (!(await backoff.wait(failure, signal))) throw failure
  }
}

/** Errors after which a stream can resume: the server stops or is too busy, or this reader was too slow. */
const RESUMABLE: ReadonlySet<string> = new Set(['UNAVAILABLE', 'STREAM_OVERFLOW', 'RATE_LIMITED', 'INTERNAL'])

/** The data of the server's event `error`. */
function parseStreamError(data: string): PilothouseError {
  const { code, detail, request_id } = JSON.parse(data) as { code: string; detail: string; request_id: string }
  return new PilothouseError({ status: 0, code, detail, requestId: request_id })
}

/** An event type of this client only: the id at which the stream starts. */
const START = 'begins'

/** Finds the id of a first block without data: the cursor to resume after before the first item. The parser skips such blocks. */
function parseStart(head: string): EventSourceMessage | null {
  const block = head.slice(0, head.indexOf('\n\n'))
  const id = /^id: (.+)$/m.exec(block)?.[1]
  return id === undefined || /^data:/m.test(block) ? null : { id, event: START, data: '' }
}

async function* readItems(response: Response): AsyncGenerator<EventSourceMessage, void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let items: EventSourceMessage[] = []
  /** the text of an incomplete first block; then null */
  let head: string | null = ''
  const parser = createParser({
    maxBufferSize: MAX_ITEM_CHARS,
    onEvent: (item) => items.push(item),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') throw error
    },
  })
  for (;;) {
    const { done, value } = await withSilenceTimeout(reader.read())
    if (done) return
    parser.feed(value)
    if (head !== null) head += value
    if (head?.includes('\n\n')) {
      const start = parseStart(head)
      head = null
      if (start) yield start
    }
    const found = items
    items = []
    yield* found
  }
}

async function withSilenceTimeout<T>(read: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DOMException('', 'TimeoutError')), SILENCE_TIMEOUT_MS)
  })
  return Promise.race([read, silence]).finally(() => clearTimeout(timer))
}
