/**
 * Cuts a stream of bytes into lines at newlines, and only there: `node:readline` (which the client's Watch uses)
 * also cuts at U+2028, which may stand in JSON, and an event would be lost.
 */
import type { Readable } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'

/**
 * Calls `onLine` for each line, also for a last one without newline. A line is cut at `longest` characters.
 * Resolves at the end of the stream, rejects with its error.
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
