// How the door of a cluster follows servers: the HTTP servers here stand for servers behind one Service.
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import type { ClusterNews } from '../../src/dataplane/process/door/messages.ts'
import { followNews } from '../../src/door/follow-news.ts'

const closing = new AbortController()
const cleanups: (() => void)[] = []
afterEach(() => {
  closing.abort()
  for (const clean of cleanups.splice(0)) clean()
})

test('a door leaves a silent server in time for a revoked key, and names the copy that it has', async () => {
  const asked: (string | null)[] = []
  const service = http.createServer((request, response) => {
    void request
      .setEncoding('utf8')
      .toArray()
      .then((parts) => {
        asked.push(JSON.parse(parts.join('')).known)
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        // the first server sends nothing more
        response.write(`data: ${JSON.stringify({ hash: String(asked.length), copy: {} })}\n\n`)
      })
  })
  await once(service.listen(0, '127.0.0.1'), 'listening')
  cleanups.push(() => service.close().closeAllConnections())
  const taken: string[] = []
  const problems: string[] = []
  void followNews({
    url: `http://127.0.0.1:${(service.address() as AddressInfo).port}/base/`,
    token: 'token',
    callerKey: { kid: 'k' },
    known: () => taken.at(-1) ?? null,
    take: ({ hash }: ClusterNews) => taken.push(hash) > 0,
    onProblem: (text) => problems.push(text),
    log: { info() {}, warn() {}, error() {} },
    signal: closing.signal,
  })
  await expect.poll(() => taken, { timeout: 1000, interval: 10 }).toEqual(['1'])
  await expect.poll(() => taken, { timeout: 5000, interval: 10 }).toEqual(['1', '2'])
  expect(asked).toEqual([null, '1'])
  expect(problems).toEqual(['no news from a server: the server was silent for 4000 ms'])
})
