/** The access log: one JSON line for each request that the door answers, when its answer ends (docs/operations.md#access-log). */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Entry, watchResponse, watchSocket } from './access-log-entry.ts'
import { LogFile } from './log-file.ts'
import type { DoorResponse } from './response.ts'
import { traceIdOf } from './trace.ts'

/** In characters. They keep a line below the size of a write to a pipe that is never split (log-file.ts). */
const MAX_PATH = 1024
const MAX_TEXT = 200

export class AccessLog {
  #file: LogFile | null = null
  #droppedBefore = 0

  /** A path, or `-` for the standard output; null: no log. */
  setFile(file: string | null): void {
    if (file === (this.#file?.file ?? null)) return
    this.close()
    this.#file = file === null ? null : new LogFile(file)
  }

  get isOn(): boolean {
    return this.#file !== null
  }

  /** Why lines can't be written; null: they can, or there is no log. */
  get problem(): string | null {
    return this.#file?.problem ?? null
  }

  /** Lines that were not written, because requests were faster than the disk. */
  get dropped(): number {
    return this.#droppedBefore + (this.#file?.dropped ?? 0)
  }

  /** Comes first: later the door changes the request. `client`: the address. */
  begin(request: IncomingMessage, response: DoorResponse, client: string): void {
    this.#writeAtEnd(watchResponse(request, response), request, client)
  }

  /** The same for a request to upgrade. */
  beginUpgrade(request: IncomingMessage, socket: Duplex, client: string): void {
    this.#writeAtEnd(watchSocket(socket), request, client)
  }

  /** Writes what waits. */
  close(): void {
    this.#droppedBefore = this.dropped
    this.#file?.close()
    this.#file = null
  }

  #writeAtEnd(entry: Entry, request: IncomingMessage, client: string): void {
    const path = pathOf(request.url!)
    entry.onEnd = () => this.#file?.write(`${JSON.stringify(lineOf(entry, request, { path, client }))}\n`)
  }
}

/** Names are those of the API. No member has a secret: no query string, no other header. */
function lineOf(entry: Entry, request: IncomingMessage, { path, client }: { path: string; client: string }): object {
  const { method, httpVersion, headers } = request
  const { time, verdict, startedAt, firstByteAt } = entry
  const { caller = null } = verdict ?? {}
  return {
    time: new Date(time).toISOString(),
    request_id: clip(headers['x-request-id']),
    trace_id: traceIdOf(headers),
    client: clip(client),
    method,
    // before an @ there would be a name and a password
    host: clip(headers.host?.replace(/^.*@/, '')),
    path: path.slice(0, MAX_PATH),
    protocol: `HTTP/${httpVersion}`,
    status: entry.status,
    ended_by: entry.endedBy,
    bytes_in: entry.bytesIn,
    bytes_out: entry.bytesOut,
    first_byte_ms: firstByteAt === null ? null : round(firstByteAt - startedAt),
    duration_ms: round(performance.now() - startedAt),
    deployment_id: entry.deployment,
    deployment_name: entry.name,
    revision_id: entry.upstream?.revision ?? null,
    caller: caller ? (caller.deployment ? 'link' : caller.kind === 'person' ? 'jwt' : caller.kind) : 'none',
    caller_id: clip(caller?.subject),
    caller_workspace: caller?.workspace ?? null,
    user_agent: clip(headers['user-agent']),
  }
}

/** The path of a request's target, which may be a whole URL or, of CONNECT, an authority. */
const pathOf = (url: string): string => /^(?:[a-z]+:\/\/[^/?#]*)?(\/[^?#]*)/i.exec(url)?.[1] ?? '/'

const clip = (text: string | string[] | undefined): string | null =>
  text === undefined ? null : String(text).slice(0, MAX_TEXT)

const round = (ms: number): number => Math.round(ms * 1000) / 1000
