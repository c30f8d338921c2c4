// How a page reaches an agent: the address in a new tab, and calls of Try it.
import type { Page } from 'playwright-core'
import { beforeAll, inject, onTestFinished } from 'vitest'
import { expect, test } from './page.ts'
import { rest } from './rest.ts'
import { sharedServer } from './shared.ts'
import { signIn } from './sign-in.ts'

const { url, keys, workspaceId, ids } = inject('server')
const NAME = 'calls-agent'
let address: string

beforeAll(async () => {
  const { url: repo_url } = await sharedServer().repository(NAME, NAME)
  const [{ id: integration_id }] = await rest('GET', '/v1/integrations/gitprovider/install')
  const { id, latest_revision_id } = await rest('POST', '/v2/deployments', {
    name: NAME,
    source: 'gitprovider',
    source_config: { integration_id, repo_url },
    source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
    secrets: [],
  })
  ids[NAME] = id
  await rest('GET', `/v2/deployments/${id}/revisions/${latest_revision_id}?wait=60`)
  address = (await rest('GET', `/v2/deployments/${id}`)).url
})

async function openDeployment(page: Page, origin = url): Promise<void> {
  await signIn(page, origin, { key: keys.viewer }, `/w/${workspaceId}/deployments/${ids[NAME]}`)
  await page.getByRole('heading', { name: NAME, exact: true }).waitFor()
}

test('a viewer opens an agent that is closed to others in a new tab', async ({ page }) => {
  await openDeployment(page)
  const opened = page.waitForEvent('popup')
  await page.getByRole('link', { name: address }).click()
  const tab = await opened
  await tab.getByText('"url":"/"').waitFor()
  // the link's token is in a cookie, not in the address
  expect(tab.url()).toBe(`${address}/`)
  expect(await tab.evaluate(() => [window.opener, document.referrer])).toEqual([null, ''])
  expect(await page.getByRole('alert').count()).toBe(0)
})

test('the tab closes and the page says why when no link can be made', async ({ page, guards }) => {
  guards.allow(/^console: Failed to load resource/)
  await openDeployment(page)
  await page.route('**/graphql', (route) =>
    route.request().postData()?.includes('createDeploymentLink') ? route.abort() : route.continue(),
  )
  const opened = page.waitForEvent('popup')
  await page.getByRole('link', { name: address }).click()
  const tab = await opened
  await page.getByRole('alert').getByText('can’t be reached').waitFor()
  expect(tab.isClosed()).toBe(true)
})

async function openTryIt(page: Page, origin = url): Promise<void> {
  await openDeployment(page, origin)
  await page.getByRole('region', { name: 'Try it' }).getByRole('button', { name: 'Open' }).click()
}

interface Call {
  method?: string
  path: string
  headers?: string
  body?: string
}

async function send(page: Page, { method = 'GET', path, headers = '', body }: Call): Promise<void> {
  await page.getByLabel('Method').selectOption(method)
  await page.getByLabel('Path').fill(path)
  await page.getByLabel('Headers', { exact: true }).fill(headers)
  if (body !== undefined) await page.getByLabel('Body', { exact: true }).fill(body)
  await page.getByRole('button', { name: 'Send' }).click()
}
const answerOf = (page: Page) => page.getByRole('region', { name: 'Answer' })

test('a call shows status, times, headers and folded JSON, and the agent learns who calls', async ({ page }) => {
  await openTryIt(page)
  await send(page, {
    method: 'PUT',
    path: '/runs?a=1',
    headers: 'X-Api-Key: theirs\nX-Mine: 1',
    body: '{"input": "hello"}',
  })
  const answer = answerOf(page)
  await answer.getByRole('status').getByText('200 OK').waitFor()
  await expect
    .poll(() => answer.getByRole('status').innerText())
    .toMatch(/first byte [\d.]+ m?s · total [\d.]+ m?s · \d/)
  await answer.getByText('Headers (').click()
  await answer.getByText('x-answered-by: agent').waitFor()
  const body = await answer.getByRole('group', { name: 'Answer body' }).innerText()
  expect(body).toContain('method: "PUT"')
  expect(body).toContain('body: "{\\"input\\": \\"hello\\"}"')
  expect(body).toContain('content-type: "application/json"')
  expect(body).toContain('x-api-key: "theirs"')
  expect(body).toContain('x-mine: "1"')
  expect(body).toContain('x-pilothouse-caller: "ey')
  for (const hidden of ['x-pilothouse-link', 'cookie', 'origin', 'referer', 'sec-fetch-site'])
    expect(body).not.toContain(`${hidden}:`)
  await answer.getByText('headers: {').click()
  await answer.getByText('x-mine:').waitFor({ state: 'hidden' })
})

test('events are shown as they arrive, until the user stops', async ({ page }) => {
  await openTryIt(page)
  await send(page, { path: '/events' })
  const events = answerOf(page).getByRole('list', { name: 'Events' }).getByRole('listitem')
  await expect.poll(() => events.count()).toBe(2)
  expect(await events.allInnerTexts()).toEqual([
    expect.stringMatching(/^1 values\s+\{\s+step: 1\s+\}$/),
    expect.stringMatching(/^2 message · id 7\s+plain$/),
  ])
  await answerOf(page).getByText('arriving').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await answerOf(page).getByText('Stopped.').waitFor()
  await page.getByRole('button', { name: 'Send' }).waitFor()
})

test('an error, a redirect and bytes are told apart', async ({ page, guards }) => {
  guards.allow(/^console: Failed to load resource: the server responded with a status of 500/)
  await openTryIt(page)
  await send(page, { path: '/fails' })
  await answerOf(page).getByText('500 Internal Server Error').waitFor()
  await answerOf(page).getByText('broken').waitFor()
  await send(page, { path: '/redirect' })
  await answerOf(page).getByText('The agent redirects.').waitFor()
  await send(page, { path: '/bytes' })
  await answerOf(page).getByText('2.0 kB of data that is not text.').waitFor()
  await send(page, { path: 'runs' })
  await page.getByText('A path begins with a slash').waitFor()
})

test('the same call is a curl command, and recent calls have no credentials', async ({ page }) => {
  await openTryIt(page)
  await send(page, { method: 'POST', path: '/a', headers: 'Authorization: Bearer secret-1\nX-Mine: 1', body: "it's" })
  await answerOf(page).getByText('200 OK').waitFor()
  await page.getByText('curl', { exact: true }).click()
  const command = await page.getByText('curl -sSN').innerText()
  expect(command).toBe(
    [
      `curl -sSN -X POST '${address}/a'`,
      '-H "X-Api-Key: $PILOTHOUSE_API_KEY"',
      "-H 'Authorization: Bearer secret-1'",
      "-H 'X-Mine: 1'",
      "--data-raw 'it'\\''s'",
    ].join(' \\\n  '),
  )
  await page.getByLabel('Headers', { exact: true }).fill('Cookie: a=1')
  await page.getByText('Browsers don’t let pages send Cookie.').waitFor()

  await page.reload()
  await page.getByText('Recent calls (1)').click()
  await page.getByLabel('Path').fill('/other')
  await page.getByRole('button', { name: 'POST /a' }).click()
  expect(await page.getByLabel('Path').inputValue()).toBe('/a')
  expect(await page.getByLabel('Headers', { exact: true }).inputValue()).toBe('Authorization: \nX-Mine: 1')
  const stored = () => page.evaluate(() => JSON.stringify(localStorage))
  expect(await stored()).not.toContain('secret-1')
  expect(await stored()).toContain('X-Mine')
  await page.getByRole('button', { name: /^Account/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.waitForURL('**/sign-in*')
  expect(await stored()).not.toContain('X-Mine')
})

test('a call works when the dashboard is open at another name of this machine, and waits for a slow agent', async ({
  open,
}) => {
  const origin = url.replace('127.0.0.1', 'localhost')
  const { page } = await open({ origin })
  await openTryIt(page, origin)
  await send(page, { path: '/never' })
  await page.getByRole('status').getByText('Waiting for the answer').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await page.getByRole('alert').getByText('Stopped.').waitFor()
  await send(page, { path: '/ok' })
  await answerOf(page).getByText('200 OK').waitFor()
})

test('a deployment with a custom URL is called by its name, and one with a port says how it gets a name', async ({
  page,
}) => {
  const { sql } = sharedServer()
  const change = (columns: string) =>
    sql(`UPDATE deployments SET ${columns}, edit = edit + 1 WHERE id = $1::uuid`, ids[NAME]!)
  onTestFinished(() => change('custom_url = NULL, address_name = split_part(substr(url, 8), $$.$$, 1)'))
  await change("custom_url = 'https://bot.example.com'")
  await openTryIt(page)
  await page.getByRole('link', { name: 'https://bot.example.com' }).waitFor()
  await page.getByText(`Calls go to ${address}`).waitFor()
  await send(page, { path: '/ok' })
  await answerOf(page).getByText('200 OK').waitFor()

  await change('address_name = NULL')
  await page.reload()
  await page.getByText(`pilothouse server addresses name ${ids[NAME]}`).waitFor()
  expect(await page.getByLabel('Path').count()).toBe(0)
})

test('a deployment from before access is shown as public until somebody decides', async ({ page }) => {
  const path = `/v2/deployments/${ids[NAME]}`
  onTestFinished(() => rest('PATCH', path, { access: 'workspace' }))
  const forget = () =>
    sharedServer().sql(
      "UPDATE deployments SET access = 'public', access_chosen = false, edit = edit + 1 WHERE id = $1::uuid",
      ids[NAME]!,
    )
  const notice = page.getByRole('alert').getByText('Everyone who can reach the address')
  const row = page.getByRole('row', { name: NAME })
  await forget()
  await signIn(page, url, { key: keys.deployer }, `/w/${workspaceId}/deployments?q=${NAME}`)
  await row.getByText('public', { exact: true }).waitFor()
  await page.getByRole('link', { name: NAME }).click()
  await notice.waitFor()
  await page.getByRole('button', { name: 'Keep it public' }).click()
  await notice.waitFor({ state: 'detached' })
  await page.getByText('public: everyone can call it').waitFor()
  await page.goBack()
  await row.waitFor()
  expect(await row.getByText('public', { exact: true }).count()).toBe(0)

  await forget()
  await page.reload()
  await page.getByRole('link', { name: NAME }).click()
  await page.getByRole('button', { name: 'Only this workspace…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Only this workspace' }).click()
  await notice.waitFor({ state: 'detached' })
  expect(await rest('GET', path)).toMatchObject({ access: 'workspace' })
})

/** What a script of the agent's page gets of the dashboard's site. */
async function attack(page: Page, dashboard: string) {
  return page.evaluate(async (dashboard) => {
    const attempt = async (steps: () => unknown) => {
      try {
        return await steps()
      } catch (error) {
        return (error as Error).name
      }
    }
    const frame = document.createElement('iframe')
    frame.src = `${dashboard}/sign-in`
    const loaded = new Promise((resolve) => frame.addEventListener('load', resolve))
    document.body.append(frame)
    await loaded
    return {
      cookies: await attempt(() => document.cookie),
      storage: await attempt(() => localStorage.getItem('pilothouse.session')),
      frame: await attempt(() => frame.contentWindow!.document.title),
      api: await attempt(() => fetch(`${dashboard}/v2/sessions`, { credentials: 'include' })),
      page: await attempt(() => fetch(`${dashboard}/`, { credentials: 'include' })),
      set: await attempt(() => {
        for (const more of ['', '; domain=localhost']) {
          // biome-ignore lint/suspicious/noDocumentCookie: what a script of an agent may try
          document.cookie = `pilothouse_theirs=1; path=/${more}`
        }
        localStorage.setItem('pilothouse.theirs', '1')
        return 'done'
      }),
    }
  }, dashboard)
}

for (const form of ['host', 'path'])
  test(`a page of an agent by ${form} reaches nothing of the dashboard, and is never in a frame of it`, async ({
    open,
  }) => {
    // the names of the machine that are nearest to the agent's
    const origin = form === 'host' ? url.replace('127.0.0.1', 'localhost') : url
    const { hostname, port } = new URL(address)
    const theirs = form === 'host' ? `${address}/` : `http://127.0.0.1:${port}/~${hostname.split('.')[0]}/`
    const { page, guards } = await open({ origin, axe: false })
    guards.allow(/^(console|policy|another origin): /)
    await signIn(page, origin, { key: keys.viewer }, `/w/${workspaceId}/deployments/${ids[NAME]}`)
    await page.getByRole('heading', { name: NAME, exact: true }).waitFor()
    const context = page.context()
    const before = await context.cookies(origin)
    expect(before.map(({ name, httpOnly }) => [/^pilothouse_/.test(name), httpOnly])).toEqual([[true, true]])

    const framed = await page.evaluate(async (src) => {
      const frame = document.createElement('iframe')
      const forbidden = new Promise((resolve) =>
        document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => resolve(effectiveDirective)),
      )
      frame.src = src
      document.body.append(frame)
      return forbidden
    }, theirs)
    expect(framed).toBe('frame-src')

    const tab = await context.newPage()
    await tab.setExtraHTTPHeaders({ 'x-api-key': keys.viewer })
    await tab.goto(theirs)
    await tab.getByText('"url":"/"').waitFor()
    expect(await attack(tab, origin)).toEqual({
      cookies: form === 'host' ? '' : 'SecurityError',
      storage: form === 'host' ? null : 'SecurityError',
      frame: 'SecurityError',
      api: 'TypeError',
      page: 'TypeError',
      set: form === 'host' ? 'done' : 'SecurityError',
    })
    const [frame] = tab.mainFrame().childFrames()
    expect(await frame!.content()).not.toContain('Pilothouse')
    expect(await context.cookies(origin)).toEqual(before)
    expect(await page.evaluate(() => localStorage.getItem('pilothouse.theirs'))).toBeNull()

    // the path's sandbox has no new tabs; a host's new tab is in another group of tabs
    const openDashboard = () => tab.evaluate((to) => window.open(`${to}/sign-in`) === null, origin)
    if (form === 'path') return expect(await openDashboard()).toBe(true)
    const opened = context.waitForEvent('page')
    await openDashboard()
    const dashboard = await opened
    await dashboard.waitForLoadState()
    expect(await dashboard.evaluate(() => window.opener)).toBeNull()
  })
