/**
 * A stream of server-sent events that goes on where it was when its connection breaks: each item has an id, and the next
 * connection asks for what came after the last one that was handed on. Nothing is lost and nothing comes twice.
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { PilothouseError, UnreachableError } from './errors.ts'
import { Patience, type RetryOptions } from './retry.ts'

export interface StreamSource {
  /** Opens the stream behind `cursor` (null: where it begins by itself). Tries again by itself, throws what that can't mend. */
  open(cursor: string | null, signal: AbortSignal): Promise<Response>
  retry: RetryOptions
  /** of the server, for messages */
  origin: string
  /** begins behind this one */
  after?: string
  signal?: AbortSignal
}

/** Of a request for a stream: with the cursor of the last item that was handed on. */
export const streamHeaders = (cursor: string | null): Record<string, string> => ({
  Accept: 'text/event-stream',
  ...(cursor === null ? {} : { 'Last-Event-ID': cursor }),
})

/** ms without a byte after which a connection is dead: the server sends something every 15 seconds. */
const SILENCE_MS = 45_000
/** ms after which a connection was one, even if nothing came: what breaks then is a new failure. */
const LASTED_MS = 10_000
/** characters of one item */
const LONGEST_ITEM = 16 * 1024 * 1024

/**
 * The items, until the server says that it is complete; an end without that word is a broken connection, as proxies make them. Throws
 * PilothouseError where going on makes no sense (a revoked key, a cursor that is too old), UnreachableError when the server
 * stayed away too long, and what `signal` was aborted with.
 */
export async function* resumingStream(source: StreamSource): AsyncGenerator<EventSourceMessage, void> {
  const { open, retry, origin, signal } = source
  const patience = new Patience(retry)
  let cursor = source.after ?? null
  for (;;) {
    const connection = new AbortController()
    const gone = signal ? AbortSignal.any([signal, connection.signal]) : connection.signal
    let why: PilothouseError | UnreachableError
    const opened = await open(cursor, gone)
    const began = performance.now()
    try {
      for await (const item of itemsOf(opened)) {
        // of an interruption, too: where to go on
        if (item.id) cursor = item.id
        if (item.event === BEGINS) continue
        if (item.event === 'complete') return
        if (item.event === 'error') throw interruption(item.data)
        patience.reset()
        yield item
      }
      why = new UnreachableError(origin, null)
    } catch (error) {
      signal?.throwIfAborted()
      why = error instanceof PilothouseError ? error : new UnreachableError(origin, error)
    } finally {
      connection.abort()
    }
    if (why instanceof PilothouseError && !RESUMABLE.has(why.code)) throw why
    if (performance.now() - began > LASTED_MS) patience.reset()
    if (!(await patience.next(why, signal))) throw why
  }
}

/** What ends a stream that can go on: the server stops or is too busy, or this reader was too slow. */
const RESUMABLE: ReadonlySet<string> = new Set(['UNAVAILABLE', 'STREAM_OVERFLOW', 'RATE_LIMITED', 'INTERNAL'])

/** The server's own word on why a stream ends before its time. */
function interruption(data: string): PilothouseError {
  const { code, detail, request_id } = JSON.parse(data) as { code: string; detail: string; request_id: string }
  return new PilothouseError({ status: 0, code, detail, requestId: request_id })
}

/** Not an event of the server's: where the stream begins. */
const BEGINS = 'begins'

/** A stream may begin with an id alone, to go on from when nothing has come yet; the parser hands out only what has data. */
function beginningOf(head: string): EventSourceMessage | null {
  const block = head.slice(0, head.indexOf('\n\n'))
  const id = /^id: (.+)$/m.exec(block)?.[1]
  return id === undefined || /^data:/m.test(block) ? null : { id, event: BEGINS, data: '' }
}

async function* itemsOf(response: Response): AsyncGenerator<EventSourceMessage, void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let items: EventSourceMessage[] = []
  /** the text until its first block is whole; then null */
  let head: string | null = ''
  const parser = createParser({
    maxBufferSize: LONGEST_ITEM,
    onEvent: (item) => items.push(item),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') throw error
    },
  })
  for (;;) {
    const { done, value } = await withinSilence(reader.read())
    if (done) return
    parser.feed(value)
    if (head !== null) head += value
    if (head?.includes('\n\n')) {
      const beginning = beginningOf(head)
      head = null
      if (beginning) yield beginning
    }
    const found = items
    items = []
    yield* found
  }
}

async function withinSilence<T>(read: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DOMException('', 'TimeoutError')), SILENCE_MS)
  })
  return Promise.race([read, silence]).finally(() => clearTimeout(timer))
}
