/**
 * Streams to the doors of a cluster: which deployments there are, and who may call them. Every message repeats the whole state, or
 * the hash of the copy that the door has.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import { z } from 'zod'
import { DomainError } from '../../domain/errors/errors.ts'

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  // nginx would buffer the news
  'x-accel-buffering': 'no',
}

export interface DoorNewsSource {
  /** `copy`: null when its hash is `known` */
  read(known: string | null): Promise<{ hash: string; copy: object | null }>
  /** further members of each message */
  settings(): object
  /** Stores the public key of the tokens that agents get. */
  saveCallerKey(key: { kid: string }): Promise<void>
  /** Stores samples of deployments. Throws ValidationError. */
  saveMetrics(body: unknown): Promise<void>
}

export interface DoorStreams {
  /** Sends the present news to all doors. Reads nothing when none is connected. */
  tell(): Promise<void>
  /** Ends all streams: doors connect to another server. */
  close(): void
}

const opening = z.object({
  known: z.string().nullable(),
  caller_key: z.looseObject({ kid: z.string().max(100), kty: z.string(), crv: z.string(), x: z.string() }),
})

/** Adds `POST /internal/door` and `/internal/door/metrics`, which need the token of the doors. */
export function mountDoorStreams(fastify: FastifyInstance, token: string, source: DoorNewsSource): DoorStreams {
  /** with the hash of the copy that the door has */
  const doors = new Map<ServerResponse, string | null>()
  const expected = digest(token)
  let latest: { hash: string; copy: object } | null = null
  let reading: Promise<unknown> = Promise.resolve()
  let isClosed = false

  /** Calls wait for each other, so that no older copy follows a newer one. */
  function refresh(): Promise<void> {
    const next = reading.then(async () => {
      const { hash, copy } = await source.read(latest?.hash ?? null)
      if (copy) latest = { hash, copy }
    })
    reading = next.catch(() => undefined)
    return next
  }

  function send(door: ServerResponse): void {
    // a slow door gets the state of a later round
    if (!latest || door.writableNeedDrain) return
    const { hash, copy } = latest
    const news = { hash, ...source.settings(), ...(doors.get(door) === hash ? {} : { copy }) }
    doors.set(door, hash)
    door.write(`data: ${JSON.stringify(news)}\n\n`)
  }

  async function requireToken(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const [, given = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
    if (timingSafeEqual(digest(given), expected)) return
    reply.header('www-authenticate', 'Bearer realm="pilothouse"')
    throw new DomainError('UNAUTHENTICATED', 'Send DOOR_TOKEN as a bearer token.')
  }

  const options: RouteShorthandOptions = {
    schema: { hide: true },
    config: { keyless: 'unlessSuccessful' },
    preHandler: requireToken,
  }
  fastify.post('/internal/door/metrics', options, async ({ body }, reply) => {
    await source.saveMetrics(body)
    return reply.code(204).send()
  })
  fastify.post('/internal/door', options, async (request, reply) => {
    const parsed = opening.safeParse(request.body)
    if (!parsed.success) throw new DomainError('MALFORMED_REQUEST', 'The body is not what a door sends.')
    await source.saveCallerKey(parsed.data.caller_key)
    await refresh()
    if (isClosed) throw new DomainError('UNAVAILABLE', 'This server is stopping.', { retryAfterSeconds: 1 })
    const door = reply.hijack().raw
    door.writeHead(200, HEADERS)
    doors.set(door, parsed.data.known)
    door.once('close', () => doors.delete(door))
    send(door)
  })
  return {
    async tell() {
      if (doors.size === 0) return
      await refresh()
      for (const door of doors.keys()) send(door)
    },
    close() {
      isClosed = true
      for (const door of doors.keys()) door.end()
    },
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
