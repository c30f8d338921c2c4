// Signing in and out, and the page without rights.
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { WebSocketRoute } from 'playwright-core'
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { signIn } from './sign-in.ts'

test.for(['light', 'dark'] as const)(
  'a key that is none is told so beside it, in the %s',
  async (colorScheme, { open }) => {
    const { page, guards } = await open({ colorScheme })
    // the browser's console line about the answer
    guards.allow(/^console: Failed to load resource: the server responded with a status of 401/)
    await page.goto('/')
    await page.waitForURL('**/sign-in')
    await page.getByLabel('API key').fill('not-a-key')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page
      .getByText(/key/i)
      .filter({ hasText: /valid|wrong|unknown|revoked|no key|not/i })
      .first()
      .waitFor()
    expect(new URL(page.url()).pathname).toBe('/sign-in')
  },
)

test('a sign-in leads to the requested page, which survives a reload', async ({ page }) => {
  const { url, key, workspaceId } = inject('server')
  const wanted = `/w/${workspaceId}/deployments`
  await page.goto(wanted)
  await page.waitForURL('**/sign-in?**')
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL(url + wanted)
  await page.reload()
  await page.getByText('support-agent').first().waitFor()
  expect(page.url()).toBe(url + wanted)
})

test('a person signs in at the organization’s provider, and reaches the requested page under their name', async ({
  page,
  guards,
}) => {
  const { url, workspaceId } = inject('server')
  const { url: issuer } = inject('provider')
  // the provider’s pages are another origin
  guards.allow(new RegExp(`^another origin: ${issuer}`))
  const wanted = `/w/${workspaceId}/activity?all=true`
  await page.goto(wanted)
  await page.getByRole('link', { name: 'Sign in with Acme' }).click()
  await page.waitForURL(url + wanted)
  await page.getByRole('main').getByText('alice').first().waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByText('deployer').first().waitFor()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL('**/sign-in**')
  // nothing of the sign-in is left in the history
  expect(page.url()).not.toMatch(/code|state/)
})

test('after signing out, the back button leads nowhere', async ({ page }) => {
  const { url, key } = inject('server')
  await signIn(page, url, { key })
  await page.getByText('support-agent').first().waitFor()
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL('**/sign-in**')
  await page.goto('/')
  await page.waitForURL('**/sign-in**')
  expect(await page.evaluate(() => localStorage.getItem('pilothouse.session'))).toBeNull()
})

test('a browser that is closed and opened again is still signed in', async ({ open }) => {
  const { url, key, workspaceId } = inject('server')
  const { page } = await open()
  await page.goto('/')
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByText('support-agent').first().waitFor()
  // a browser stores on disk: cookies with an end, and local storage
  const { cookies, origins } = await page.context().storageState()
  expect(cookies.map(({ name }) => name)).toEqual([expect.stringMatching(/^pilothouse_/)])
  expect(cookies[0]!.expires).toBeGreaterThan(Date.now() / 1000)
  const again = await open({ storageState: { cookies, origins } })
  await again.page.goto(`/w/${workspaceId}/deployments`)
  await again.page.getByText('support-agent').first().waitFor()
  expect(again.page.url()).toBe(`${url}/w/${workspaceId}/deployments`)
})

test('signing out while the connection for live changes is opened leaves no error', async ({ page }) => {
  const { url, key } = inject('server')
  const sockets: WebSocketRoute[] = []
  await page.routeWebSocket('**/graphql', (socket) => void sockets.push(socket))
  await signIn(page, url, { key })
  await page.getByText('support-agent').first().waitFor()
  await expect.poll(() => sockets.length).toBe(1)
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL('**/sign-in**')
  await sockets[0]!.close({ code: 4403, reason: 'Forbidden' })
  await page.getByLabel('API key').waitFor()
})

test('all tabs are signed in and out together', async ({ page }) => {
  const { url, key } = inject('server')
  await page.goto('/sign-in')
  const other = await page.context().newPage()
  await other.goto(`${url}/`)
  await other.waitForURL('**/sign-in**')
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await other.getByText('support-agent').first().waitFor()
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await other.waitForURL('**/sign-in**')
  await other.close()
})

test('a program at another port of the host gets one half of the session, which is of no use', async ({ open }) => {
  const { url, key } = inject('server')
  const { page, guards } = await open({ axe: false })
  guards.allow(/^another origin: http:\/\/127\.0\.0\.1:/)
  await signIn(page, url, { key })
  await page.getByRole('heading', { name: 'Deployments' }).waitFor()
  const received: string[] = []
  const program = http.createServer((request, response) => {
    received.push(request.headers.cookie ?? '')
    response.setHeader('content-type', 'text/html').end('<link rel="icon" href="data:,"><title>Theirs</title><p>Theirs')
  })
  program.listen(0, '127.0.0.1')
  await once(program, 'listening')
  const theirs = new URL(url)
  theirs.port = String((program.address() as AddressInfo).port)
  await page.evaluate((address) => location.assign(address), theirs.href)
  await page.getByText('Theirs').waitFor()
  program.close()
  const [cookie] = received
  // what browsers do: cookies have no port
  expect(cookie).toMatch(/^pilothouse_\w+=/)
  const headers = { cookie: cookie!, origin: new URL(url).origin, 'sec-fetch-site': 'same-origin' }
  expect((await fetch(`${url}/v2/sessions`, { headers })).status).toBe(401)
  expect(await page.evaluate(() => localStorage.length)).toBe(0)
})
