/** A caller that disconnects while it sends: no answer is possible, and the server logs no error. */
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { expect, test } from 'vitest'
import { errorHandler } from '../../src/api/rest/framework/errors.ts'
import { createLogger } from '../../src/app/logger.ts'

test('a caller that disconnects in the middle of its body is no error of the server', async () => {
  const lines: string[] = []
  const server = Fastify()
  server.setErrorHandler(errorHandler(createLogger('error', { write: (line: string) => void lines.push(line) })))
  server.post('/', async () => null)
  const answered = new Promise<number>((resolve) => {
    server.addHook('onSend', async (_request, reply) => resolve(reply.statusCode))
  })
  await server.listen({ port: 0, host: '127.0.0.1' })
  try {
    const socket = net.connect((server.server.address() as AddressInfo).port, '127.0.0.1')
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100'
    socket.write(`${head}\r\nExpect: 100-continue\r\n\r\n{`)
    // `100 Continue`: the server has read the headers and waits for the body
    await once(socket, 'data')
    socket.destroy()
    expect(await answered).toBe(400)
    expect(lines).toEqual([])
  } finally {
    await server.close()
  }
})
