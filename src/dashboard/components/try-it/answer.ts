/** Reads an agent's answer as it arrives: server-sent events, JSON, text, or the size of anything else. */
import { createParser } from 'eventsource-parser'
import { parseJson } from './request.ts'

export interface AnswerEvent {
  /** from 1 */
  number: number
  name: string | undefined
  id: string | undefined
  data: string
}

export type AnswerBody =
  /** the newest; `count`: of all */
  | { kind: 'events'; events: AnswerEvent[]; count: number }
  | { kind: 'json'; value: unknown }
  /** `isCut`: more has arrived than is kept */
  | { kind: 'text'; text: string; isCut: boolean }
  | { kind: 'binary' }
  /** the browser hides everything about it */
  | { kind: 'redirect' }

export interface Answer {
  status: number
  statusText: string
  headers: [name: string, value: string][]
  /** ms from the call to the headers */
  firstByteMs: number
  /** ms from the call to the end; null: it still arrives */
  totalMs: number | null
  bytes: number
  body: AnswerBody
  /** why it is incomplete */
  failure: string | null
}

const MAX_TEXT = 1_000_000
const MAX_EVENTS = 500
/** between two views of an answer that arrives */
const SHOW_MS = 50
const TEXT = /^(text\/|application\/([\w.-]+\+)?(json|xml|yaml|x-ndjson|jsonl|javascript|x-www-form-urlencoded)\b)/
const JSON_TYPE = /^application\/([\w.-]+\+)?json\b/

/** Calls `onChange` while the answer arrives and at its end. Never throws. `startedAt`: `performance.now()` at the call. */
export async function readAnswer(
  response: Response,
  startedAt: number,
  onChange: (answer: Answer) => void,
): Promise<Answer> {
  const elapsed = () => performance.now() - startedAt
  const type = response.headers.get('content-type')?.toLowerCase() ?? ''
  const reader = readerOf(response.type === 'opaqueredirect' ? 'redirect' : type)
  const { status, statusText } = response
  const answer: Answer = {
    status,
    statusText,
    // the door's, for this page
    headers: [...response.headers].filter(([name]) => !name.startsWith('access-control-')),
    firstByteMs: elapsed(),
    totalMs: null,
    bytes: 0,
    body: reader.body(),
    failure: null,
  }
  const show = () => onChange({ ...answer, body: reader.body() })
  show()
  let shown: ReturnType<typeof setTimeout> | undefined
  try {
    const chunks = response.body?.getReader()
    for (let next = await chunks?.read(); next && !next.done; next = await chunks?.read()) {
      answer.bytes += next.value.byteLength
      reader.take(next.value)
      shown ??= setTimeout(() => {
        shown = undefined
        show()
      }, SHOW_MS)
    }
    reader.end()
  } catch (error) {
    answer.failure = (error as Error).name === 'AbortError' ? 'Stopped.' : 'The connection broke.'
  }
  clearTimeout(shown)
  answer.totalMs = elapsed()
  show()
  return { ...answer, body: reader.body() }
}

interface BodyReader {
  take(chunk: Uint8Array): void
  /** the answer is complete */
  end(): void
  /** so far */
  body(): AnswerBody
}

function readerOf(type: string): BodyReader {
  if (type.startsWith('text/event-stream')) return eventReader()
  if (type === '' || TEXT.test(type)) return textReader(type)
  const kind = type === 'redirect' ? type : 'binary'
  return { take: () => undefined, end: () => undefined, body: () => ({ kind }) }
}

function eventReader(): BodyReader {
  const decoder = new TextDecoder()
  let events: AnswerEvent[] = []
  let count = 0
  const parser = createParser({
    onEvent({ event: name, id, data }) {
      count++
      events = [...events.slice(1 - MAX_EVENTS), { number: count, name, id, data }]
    },
  })
  return {
    take: (chunk) => parser.feed(decoder.decode(chunk, { stream: true })),
    end: () => undefined,
    body: () => ({ kind: 'events', events, count }),
  }
}

function textReader(type: string): BodyReader {
  // an answer without a type may be anything
  const decoder = new TextDecoder('utf-8', { fatal: type === '' })
  let text = ''
  let isCut = false
  let found: AnswerBody | null = null
  const append = (more: string) => {
    isCut ||= text.length + more.length > MAX_TEXT
    text = (text + more).slice(0, MAX_TEXT)
  }
  const decode = (chunk?: Uint8Array) => {
    if (found) return
    try {
      append(chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode())
    } catch {
      found = { kind: 'binary' }
    }
  }
  return {
    take: decode,
    end() {
      decode()
      if (found || isCut || !(type === '' ? /^\s*[[{]/.test(text) : JSON_TYPE.test(type))) return
      const value = parseJson(text)
      if (value !== undefined) found = { kind: 'json', value }
    },
    body: () => found ?? { kind: 'text', text, isCut },
  }
}
