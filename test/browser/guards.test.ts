// Tests of the guards: each finds its fault on a page of a separate origin.
import { once } from 'node:events'
import http, { type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll } from 'vitest'
import { expect, test } from './page.ts'

const BODIES: Record<string, string> = {
  '/console': '<script nonce="n">console.error("it went wrong")</script>',
  '/thrown': '<script nonce="n">throw new Error("nobody catches it")</script>',
  '/elsewhere': '<img alt="" src="http://127.0.0.2:9/pixel.png">',
  '/inline': '<p onclick="x()" style="color: red">…</p>',
  '/unnamed': '<button></button>',
}
let server: Server
beforeAll(async () => {
  server = http
    .createServer(({ url = '' }, response) => {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.setHeader(
        'content-security-policy',
        "default-src 'self'; img-src http://127.0.0.2:9; script-src 'nonce-n'",
      )
      const icon = '<link rel="icon" href="data:,">'
      response.end(
        `<!doctype html><html lang="en"><title>A page</title>${icon}<main><h1>A page</h1>${BODIES[url]}</main>`,
      )
    })
    .listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(() => server.close())

test.for([
  ['/console', /^console: it went wrong/],
  ['/thrown', /^thrown: Error: nobody catches it/],
  ['/elsewhere', /^another origin: http:\/\/127\.0\.0\.2:9\/pixel\.png/],
  ['/inline', /^policy: style-src-attr forbids inline/],
  ['/unnamed', /^axe button-name: /],
] as const)('%s is found', async ([path, expected], { open }) => {
  const { page, guards } = await open({ origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  await page.goto(path)
  await expect
    .poll(async () => [...guards.found(), ...(await guards.axe())].some((line) => expected.test(line)))
    .toBe(true)
  // expected, so it doesn't fail this test
  await page.goto('about:blank')
  guards.forgive()
})
