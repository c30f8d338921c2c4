// Unusual situations: strange names, an empty workspace, a server that stops during a view, a session that ends.
import { randomUUID } from 'node:crypto'
import type { Route } from 'playwright-core'
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { createDeployment, rest } from './rest.ts'
import { sharedServer } from './shared.ts'
import { signIn } from './sign-in.ts'

const { url, key, workspaceId, ids, keys } = inject('server')
const server = sharedServer()

const SIZES = [1280, 400]
const LONG = 'o'.repeat(128)
const NAMES = [LONG, '<img src=x onerror="document.title=1"><b>&amp;</b>', 'وكيل الدعم الفني']

test('names are shown unchanged and without overflow: a word of 128 letters, markup, and right-to-left text', {
  timeout: 90_000,
}, async ({ page }) => {
  const image = `registry.example.com/${'very/'.repeat(40)}long:1`
  const secrets = [{ name: 'X'.repeat(120), value: 'x' }]
  const made = await Promise.all(NAMES.map((name) => createDeployment(name, image, { secrets })))
  const [{ id, latest_revision_id: revision }] = made
  const of = `/deployments/${id}`
  const places = {
    '/deployments?sort=-created': NAMES,
    '/activity': NAMES,
    [of]: [LONG],
    [`${of}/settings`]: [LONG],
    [`${of}/revisions/${revision}`]: [LONG],
  }
  await signIn(page, url, { key })
  for (const width of SIZES) {
    await page.setViewportSize({ width, height: 800 })
    for (const [path, names] of Object.entries(places)) {
      await page.goto(`/w/${workspaceId}${path}`)
      for (const name of names) await page.getByRole('main').getByText(name).first().waitFor()
      const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      expect.soft(beyond, `${path} at ${width}: pixels beyond its edge`).toBeLessThanOrEqual(0)
    }
  }
  expect(await page.title()).not.toBe('1')
  expect(await page.locator('img[src="x"]').count()).toBe(0)
  for (const one of made) await rest('DELETE', `/v2/deployments/${one.id}?force=true`)
})

test('an empty workspace says how to begin', async ({ page }) => {
  const created = await rest('GET', '/v2/deployments', undefined, keys.stranger)
  expect(created.resources).toEqual([])
  await signIn(page, url, { key: keys.stranger })
  await page.getByText('No deployments yet').waitFor()
  for (const name of ['Listeners', 'Integrations', 'OAuth']) {
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    await page
      .getByRole('button', { name: /New|Connect|Install/ })
      .first()
      .waitFor()
  }
})

test('a session that is ended elsewhere leads at once to where one signs in, and from there back', async ({
  page,
  guards,
}) => {
  // the browser's console line about the answer
  guards.allow(/^console: Failed to load resource: the server responded with a status of 401/)
  const name = `to-be-revoked-${randomUUID().slice(0, 8)}`
  const own = await server.cli(
    'server',
    'keys',
    'create',
    '--role',
    'viewer',
    '--name',
    name,
    '--workspace',
    workspaceId,
  )
  const address = `/w/${workspaceId}/deployments/${ids['billing-agent']}`
  await signIn(page, url, { key: own }, address)
  await page.getByRole('heading', { name: 'billing-agent' }).waitFor()
  const { resources } = await rest('GET', '/v2/sessions?limit=100')
  const session = resources.find((one: { actor: { name: string } }) => one.actor.name === name)
  await rest('DELETE', `/v2/sessions/${session.id}`)
  await page.waitForURL('**/sign-in**')
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'billing-agent' }).waitFor()
})

test('a request that the network loses once, as when a laptop wakes up, is repeated automatically', async ({
  page,
  guards,
}) => {
  guards.allow(/^console: Failed to load resource: net::ERR_/)
  // the first request: no stream exists yet that would notice
  let swallowed = 0
  const swallow = (route: Route) => {
    swallowed++
    return route.abort()
  }
  await page.route('**/graphql', swallow, { times: 1 })
  await signIn(page, url, { key }, `/w/${workspaceId}/listeners`)
  await page.getByRole('article', { name: 'prod-eu' }).waitFor()
  expect(swallowed).toBe(1)
})

test('a page opened while the server is down opens when it is back; the previous page stays', {
  timeout: 90_000,
}, async ({ page, guards }) => {
  // the browser's console lines about an unreachable server and a missing part
  guards.allow(/^console: (Failed to load resource: net::ERR_|WebSocket connection to .* failed|.*could not be loaded)/)
  await signIn(page, url, { key }, `/w/${workspaceId}/deployments`)
  await page.getByText('support-agent').first().waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  await server.kill()
  const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Keys and sessions' })
  // hovering shows no error and keeps the page
  await link.hover()
  await page.getByText('Connection lost').waitFor()
  await page.getByText('support-agent').first().waitFor()
  await link.click()
  await page.getByText('This page opens by itself when it is back').waitFor()
  await server.start()
  await page.getByText('this browser').waitFor({ timeout: 45_000 })
})
