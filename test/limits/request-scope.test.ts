// The request scope on a real server: a slot is released even if the client disconnects before it was granted.
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { HttpRequestScope } from '../../src/api/limits/request-scope.ts'

test('a client that disconnects while it waits does not keep its slot', async () => {
  const fastify = Fastify()
  let arrived: () => void
  const asked = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const over = new Promise<string>((resolve) => {
    fastify.get('/', async (request, reply) => {
      const requestScope = new HttpRequestScope(request, reply)
      arrived()
      await once(reply.raw, 'close')
      requestScope.onEnd(() => resolve(requestScope.gone.aborted ? 'gone' : 'answered'))
      return reply.hijack()
    })
  })
  await fastify.listen({ port: 0 })
  const client = new AbortController()
  const answer = fetch(`http://127.0.0.1:${(fastify.server.address() as AddressInfo).port}/`, { signal: client.signal })
  await asked
  client.abort()
  await answer.catch(() => undefined)
  expect(await over).toBe('gone')
  await fastify.close()
})

test('a large body counts as many calls, and so does one of unknown length', async () => {
  const fastify = Fastify()
  fastify.post('/', async (request, reply) => new HttpRequestScope(request, reply).weight)
  await fastify.listen({ port: 0 })
  const url = `http://127.0.0.1:${(fastify.server.address() as AddressInfo).port}/`
  const weighs = async (body: BodyInit) => {
    const headers = { 'content-type': 'text/plain' }
    return Number(await (await fetch(url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)).text())
  }
  expect(await weighs('small')).toBe(1)
  expect(await weighs('x'.repeat(16 * 1024))).toBe(2)
  expect(await weighs('x'.repeat(1_000_000))).toBe(62)
  expect(await weighs(new Blob(['in pieces']).stream())).toBe(8)
  await fastify.close()
})

test('a rejected oversized body costs its key no more than one that is read', async () => {
  const fastify = Fastify({ bodyLimit: Number.MAX_SAFE_INTEGER })
  const weight = new Promise((resolve) => {
    fastify.post(
      '/',
      { onRequest: async (request, reply) => resolve(new HttpRequestScope(request, reply).weight) },
      () => '',
    )
  })
  await fastify.listen({ port: 0 })
  const socket = connect((fastify.server.address() as AddressInfo).port)
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 1844674407370955161\r\n\r\n')
  expect(await weight).toBe(65)
  socket.destroy()
  await fastify.close()
})
