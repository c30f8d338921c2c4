/** Watches a request until its answer ends, for the access log. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { Upstream } from '../dataplane/process/door/messages.ts'
import type { Verdict } from './guard.ts'

/** What is known of a request. */
export interface Entry {
  /** ms since 1970 */
  time: number
  /** `performance.now()` */
  startedAt: number
  firstByteAt: number | null
  /** null: the client left before the answer */
  status: number | null
  /** of bodies; of a WebSocket all bytes */
  bytesIn: number
  bytesOut: number
  deployment: string | null
  name: string | null
  verdict: Verdict | null
  /** which agent got it */
  upstream: Upstream | null
  /** who ended it before it was complete; `idle`: the door, because there was no traffic */
  endedBy: 'client' | 'agent' | 'idle' | null
  /** whether an agent has closed its WebSocket by a close frame */
  isClosedProperly(): boolean
  onEnd(): void
}

type Watched = ServerResponse & { entry: Entry | null }

/** A response or an upgraded socket. */
export type Exchange = Watched | (Duplex & { entry?: Entry })

/** Undefined or null: there is no log. */
export const entryOf = (exchange: Exchange): Entry | undefined | null => exchange.entry

/** Of a request that is not upgraded. The response notes what it sends. */
export function watchResponse(request: IncomingMessage, response: Watched): Entry {
  const entry = newEntry(response)
  const isHttp2 = request.httpVersionMajor > 1
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  // unlike a listener, it does not let the body flow before the agent takes it
  if (length !== undefined || encoding !== undefined)
    before(request, 'push', ([chunk]) => {
      entry.bytesIn += (chunk as Buffer | null)?.length ?? 0
    })
  const { socket } = request
  const onTimeout = () => endBy(entry, 'idle')
  // streams of HTTP/2 share it
  if (!isHttp2) socket.once('timeout', onTimeout)
  response.once('close', () => {
    socket.off('timeout', onTimeout)
    entry.status = response.headersSent ? response.statusCode : null
    if (!isComplete(response)) endBy(entry, 'client')
    entry.onEnd()
  })
  return entry
}

/** Of a request to upgrade. */
export function watchSocket(socket: Duplex & { bytesRead?: number; bytesWritten?: number }): Entry {
  const entry = newEntry(socket)
  const { bytesRead: readBefore = 0, bytesWritten: writtenBefore = 0 } = socket
  const readStatus = ([chunk]: unknown[]) => {
    if (entry.status !== null || chunk === undefined) return
    entry.firstByteAt = performance.now()
    entry.status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(String(chunk))?.[1] ?? 502)
    restoreWrite()
  }
  const restoreWrite = before(socket, 'write', readStatus)
  before(socket, 'end', (args) => {
    readStatus(args)
    endBy(entry, 'agent')
  })
  socket.once('end', () => endBy(entry, 'client'))
  socket.once('error', () => endBy(entry, 'client'))
  socket.once('timeout', () => endBy(entry, 'idle'))
  socket.once('close', () => {
    entry.bytesIn = (socket.bytesRead ?? 0) - readBefore
    entry.bytesOut = (socket.bytesWritten ?? 0) - writtenBefore
    const isEnded = entry.status === 101 ? entry.isClosedProperly() : entry.status !== null
    if (isEnded) entry.endedBy = null
    else endBy(entry, 'client')
    entry.onEnd()
  })
  return entry
}

function newEntry(exchange: Exchange): Entry {
  const entry: Entry = {
    time: Date.now(),
    startedAt: performance.now(),
    firstByteAt: null,
    status: null,
    bytesIn: 0,
    bytesOut: 0,
    deployment: null,
    name: null,
    verdict: null,
    upstream: null,
    endedBy: null,
    isClosedProperly: () => false,
    onEnd: () => undefined,
  }
  exchange.entry = entry
  return entry
}

function endBy(entry: Entry, who: Entry['endedBy']): void {
  entry.endedBy ??= who
}

/** Whether the whole answer was sent. */
function isComplete(response: Watched | (Watched & Pick<Http2ServerResponse, 'stream'>)): boolean {
  // HTTP/2: it says that it has finished when its stream was reset, too
  return 'stream' in response ? response.writableEnded && response.stream.rstCode === 0 : response.writableFinished
}

/** Calls `act` before each call of the method. Returns what undoes that. */
function before<Target extends object, Name extends keyof Target>(
  target: Target,
  name: Name,
  act: (args: unknown[]) => void,
): () => void {
  const method = target[name]
  const watched = (...args: unknown[]): unknown => {
    act(args)
    return (method as (...args: unknown[]) => unknown).apply(target, args)
  }
  target[name] = watched as Target[Name]
  return () => {
    target[name] = method
  }
}
