/** How the HTTP server ends. What it answers is tested with the transports. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { closeHttp, createHttp } from '../../src/server/http.ts'

test('an answer that never ends, because its client does not read it, does not keep the server', async () => {
  const fastify = createHttp({ log: pino({ level: 'silent' }), notReady: async () => null })
  fastify.get('/endless', (_request, reply) => {
    reply.hijack()
    reply.raw.write('begun')
  })
  await fastify.listen({ port: 0 })
  const { port } = fastify.server.address() as AddressInfo
  const request = http.get({ port, path: '/endless' })
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  const cut = expect(once(response, 'end')).rejects.toThrow('aborted')
  await closeHttp(fastify, 20)
  await cut
})
