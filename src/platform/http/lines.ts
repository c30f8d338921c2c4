/**
 * Splits a byte stream into lines at newlines only. `node:readline` (in the Kubernetes client's Watch) also splits at
 * U+2028, which may occur in JSON, so an event would be lost.
 */
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/**
 * Calls `onLine` for each line, including a last one without newline. Truncates lines to `longest` characters. Resolves at
 * the end of the stream, rejects with its error.
 */
export async function splitLines(stream: Readable, longest: number, onLine: (line: string) => void): Promise<void> {
  const decoder = new StringDecoder('utf8')
  let pending = ''
  const take = (text: string) => {
    for (let start = 0; ; ) {
      const end = text.indexOf('\n', start)
      const part = text.slice(start, end === -1 ? undefined : end)
      if (pending.length < longest) pending += part.slice(0, longest - pending.length)
      if (end === -1) return
      const line = pending
      pending = ''
      onLine(line)
      start = end + 1
    }
  }
  for await (const chunk of stream) take(decoder.write(chunk as Buffer))
  take(decoder.end())
  if (pending) onLine(pending)
}
