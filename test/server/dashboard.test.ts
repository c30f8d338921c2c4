/** How a server serves the dashboard: its paths, its policy, its caching, and the size of the first load. */
import http from 'node:http'
import { expect, test } from 'vitest'
import { agentAddresses } from '../../src/app/door-access.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { useApp } from '../support/app.ts'

const app = useApp()

const page = (path: string, headers: Record<string, string> = {}) =>
  fetch(app.url + path, { headers: { accept: 'text/html,*/*', ...headers } })
const assetsOf = (html: string) => [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!)

test('the dashboard’s page is served at each of its paths and at no other', async () => {
  for (const path of ['/', '/sign-in', '/w/x', '/w/x/deployments/y?log=build']) {
    const response = await page(path)
    expect(response.status, path).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(await response.text()).toContain('<div id="root">')
  }
  for (const path of [
    '/sign-in/x',
    '/w',
    '/deployments',
    '/assets/nothing.js',
    '/assets/../index.html',
    '/assets/%2e%2e/index.html',
  ]) {
    const response = await page(path)
    expect(response.status, path).toBe(404)
    expect(await response.json(), path).toMatchObject({ code: 'NOT_FOUND' })
  }
  const posted = await fetch(`${app.url}/sign-in`, { method: 'POST' })
  expect(posted.status).toBe(405)
  expect(posted.headers.get('allow')).toBe('GET, HEAD')
})

test('a path that names no dashboard file answers 404, never 500', async () => {
  const [file] = assetsOf(await (await page('/')).text())
  const asked = (path: string, headers = {}) =>
    new Promise<number>((resolve, reject) => {
      // sent literally: fetch would resolve the dots
      const { hostname, port } = new URL(app.url)
      http.get({ hostname, port, path, headers }, (answer) => resolve(answer.resume().statusCode!)).on('error', reject)
    })
  for (const path of [
    '',
    '../index.html',
    '%2e%2e/index.html',
    '..%2f..%2fbuild.json',
    '..%5cindex.html',
    '%00',
    '%5c',
  ])
    expect(await asked(`/assets/${path}`), path).toBe(404)
  expect(await asked(file!, { 'if-match': '"another"' })).toBe(412)
  expect(await asked(file!, { range: 'bytes=99999999-' })).toBe(200)
})

test('its policy allows only calls of agents at other origins, and nothing inline, except styles with the response’s nonce', async () => {
  const [one, other] = [await page('/'), await page('/')]
  const nonces = [one, other].map(
    (response) => /'nonce-([^']+)'/.exec(response.headers.get('content-security-policy')!)![1]!,
  )
  expect(nonces[0]).not.toBe(nonces[1])
  expect(one.headers.get('content-security-policy')!.replace(nonces[0]!, 'N').split(';')).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'nonce-N'",
    "img-src 'self'",
    "connect-src 'self' http://*.localhost:*",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ])
  const html = await one.text()
  expect(html).toContain(`nonce="${nonces[0]}"`)
  expect(html).not.toMatch(/<(script|style)[^>]*>[^<]/)
  expect(one.headers.get('cache-control')).toBe('no-cache')
  // other pages have a separate policy
  expect((await page('/docs')).headers.get('content-security-policy')).not.toContain('nonce')
})

test('its files are compressed and cached for a year, and the first load is less than 250 KB', async () => {
  const html = await (await page('/')).text()
  let bytes = html.length
  for (const path of assetsOf(html)) {
    const response = await fetch(app.url + path, { headers: { 'accept-encoding': 'br, gzip' } })
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(response.headers.get('content-encoding'), path).toBe(path.endsWith('.svg') ? null : 'br')
    bytes += Number(response.headers.get('content-length'))
  }
  expect(bytes).toBeLessThan(250_000)
})

test.for([
  [{}, 'http://*.localhost:8081'],
  [{ APPS_PORT: '9000', APPS_TLS_CERT: '/c.pem', APPS_TLS_KEY: '/k.pem' }, 'https://*.localhost:9000'],
  [{ APPS_PORT: '0' }, 'http://*.localhost:*'],
  [{ APPS_URL: 'https://{name}.Apps.example.com' }, 'https://*.apps.example.com'],
  [{ APPS_URL: 'https://agent-{name}-eu.example.com:8443' }, 'https://*.example.com:8443'],
] as const)('with %o, the addresses of agents are %s', ([settings, expected]) => {
  expect(agentAddresses(readConfig({ ...settings }))).toBe(expected)
})
