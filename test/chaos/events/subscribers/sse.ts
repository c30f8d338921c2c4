/** An independent client of server-sent events, on a separate connection, with a reading speed set by the caller. */
import http from 'node:http'
import { StringDecoder } from 'node:string_decoder'
import { CUT, type End, NO_ANSWER } from './wire.ts'

interface Message {
  event: string
  /** The last received `id`. */
  id: string | null
  /** Empty for a message that only gives the position. */
  data: string
}

export interface Request {
  url: string
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body?: string
  signal: AbortSignal
  /** Returns the end of the stream if this was its last message. */
  message(message: Message): End | undefined
  heard(): void
  /** Called with the id of every event, also without data. */
  at(id: string): void
  /** Called with the response, to pause reading. */
  pace?(response: http.IncomingMessage): void
}

/** Resolves when the response has ended, in any way. */
export function readStream(request: Request): Promise<End> {
  const { url, method, headers, body, signal } = request
  return new Promise((resolve) => {
    let end: End = NO_ANSWER
    const outgoing = http.request(url, { method, headers, agent: false, signal }, (response) => {
      const type = response.headers['content-type'] ?? ''
      if (response.statusCode !== 200 || !type.startsWith('text/event-stream'))
        return void refusal(response).then(resolve)
      end = CUT
      const feed = messages((message) => {
        if (message.data !== '') end = request.message(message) ?? end
        if (message.id !== null) request.at(message.id)
      })
      response.on('data', (chunk: Buffer) => {
        request.heard()
        feed(chunk)
      })
      response.on('error', () => {})
      response.on('close', () => resolve(end))
      request.pace?.(response)
    })
    outgoing.on('error', () => resolve(end))
    outgoing.end(body)
  })
}

/** An answer that is not a stream. */
async function refusal(response: http.IncomingMessage): Promise<End> {
  let text = ''
  try {
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    const answer = JSON.parse(text)
    const code = answer.code ?? answer.errors?.[0]?.extensions?.code
    return { how: `${response.statusCode} ${code}` }
  } catch {
    return { how: String(response.statusCode) }
  }
}

/** The standard's parser (https://html.spec.whatwg.org/multipage/server-sent-events.html), without `retry`. */
function messages(on: (message: Message) => void): (chunk: Buffer) => void {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let id: string | null = null
  let event = ''
  let data: string[] = []
  function line(text: string): void {
    if (text === '') {
      on({ event: event || 'message', id, data: data.join('\n') })
      event = ''
      data = []
      return
    }
    const colon = text.indexOf(':')
    const field = colon === -1 ? text : text.slice(0, colon)
    const value = colon === -1 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id' && !value.includes('\0')) id = value
  }
  return (chunk) => {
    const lines = (rest + decoder.write(chunk)).split(/\r\n|\n|\r/)
    rest = lines.pop()!
    for (const one of lines) line(one)
  }
}
