/** How the HTTP server ends. What it answers is tested with the transports. */
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { closeHttp, createHttp } from '../../src/api/server/http.ts'

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

/** A server that reads the body of a POST to /body or /slow, and a request whose body stops on its way. */
async function stalled(target: string) {
  const fastify = createHttp({ log: pino({ level: 'silent' }), notReady: async () => null, bodyTime: 100 })
  fastify.post('/body', async () => 'done')
  fastify.post('/slow', { config: { slowBody: true } }, async () => 'done')
  await fastify.listen({ port: 0 })
  const { port } = fastify.server.address() as AddressInfo
  const headers = { 'content-type': 'text/plain', 'content-length': 2 }
  const request = http.request({ port, path: target, method: 'POST', headers, agent: false })
  request.on('error', () => {})
  request.write('a')
  return { fastify, request }
}

test('a body that takes too long to arrive is answered with 408', async () => {
  const { fastify, request } = await stalled('/body')
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  expect(response.statusCode).toBe(408)
  await closeHttp(fastify, 20)
})

test('a route that sees to the time of its body itself is not cut off', async () => {
  const { fastify, request } = await stalled('/slow')
  const { fastify: other, request: cut } = await stalled('/body')
  // by the time that this one is cut off, the first would have been
  await once(cut, 'response')
  request.end('b')
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  expect(response.statusCode).toBe(200)
  await Promise.all([closeHttp(fastify, 20), closeHttp(other, 20)])
})
