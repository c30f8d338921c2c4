/** What Yoga hangs on a request and its response, and with it all it knows of them, is taken off again for a stream. */
import type { IncomingMessage, ServerResponse } from 'node:http'

const EVENTS = ['close', 'error', 'finish'] as const

/**
 * To be called before others get the two. What is returned removes the listeners that were added since, and all of the
 * request, which has been read by then.
 */
export function untouched(request: IncomingMessage, response: ServerResponse): () => void {
  const before = EVENTS.map((event) => response.rawListeners(event))
  return () => {
    request.removeAllListeners()
    for (const [i, event] of EVENTS.entries())
      for (const listener of response.rawListeners(event))
        if (!before[i]!.includes(listener)) response.removeListener(event, listener as () => void)
  }
}
