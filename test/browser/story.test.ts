// A day of an agent's owner: it goes live, breaks, is rolled back, and its server is killed.
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, inject } from 'vitest'
import { type Gate, gate } from './gate.ts'
import { expect, type Opened, test } from './page.ts'
import { rest } from './rest.ts'
import { sharedServer } from './shared.ts'
import { signIn } from './sign-in.ts'

const { url, key, workspaceId } = inject('server')
const server = sharedServer()
let repository: Awaited<ReturnType<typeof server.repository>>
/** Blocks its builds until a page has shown them in progress. */
let half: Gate
beforeAll(async () => {
  repository = await server.repository('greeter')
  half = await gate()
})
afterAll(() => half?.close())

/** A build installs packages first, and the machine may be busy. */
const BUILT = { timeout: 60_000 }
const LONG = { timeout: 150_000 }

/** A signed-in page. */
async function signedIn(open: () => Promise<Opened>): Promise<Opened> {
  const opened = await open()
  await signIn(opened.page, url, { key })
  return opened
}

/** Marks the page, so that a reload would be noticed. */
async function unreloaded(page: Page): Promise<() => Promise<void>> {
  await page.evaluate(() => Object.assign(window, { still: true }))
  return async () => expect(await page.evaluate(() => 'still' in window), 'the page was loaded anew').toBe(true)
}

/** The row of this story's deployment. */
const row = (page: Page) => page.getByRole('row').filter({ hasText: 'greeter' })

test('the address that the command line prints signs in once, and stays in no history', LONG, async ({ open }) => {
  const address = await server.cli('server', 'dashboard')
  const { page } = await open()
  await page.goto(address)
  await page.getByRole('heading', { name: 'Deployments' }).waitFor()
  expect(page.url()).toBe(`${url}/w/${workspaceId}/deployments`)

  const other = await open()
  // the browser's console line about the answer
  other.guards.allow(/^console: Failed to load resource: the server responded with a status of 401/)
  await other.page.goto(address)
  await other.page.getByRole('alert').waitFor()
  expect(new URL(other.page.url()).pathname).toBe('/sign-in')
  expect(other.page.url()).not.toContain('code')
})

/** Thousands of lines, as a build may print them on a terminal. */
const PRINTS = `node -e 'for (let n = 0; n < 3000; n++) console.log("\\u001b[32m" + n + "\\u001b[39m " + "word ".repeat(n % 90))'`

test(
  'a deployment is created from a repository, its log is followed during the build, and it goes live',
  LONG,
  async ({ open }) => {
    const { page } = await signedIn(open)
    const stayed = await unreloaded(page)
    await page.getByRole('link', { name: 'New deployment' }).click()
    await page.getByText('Git repository', { exact: true }).click()
    await page.getByRole('combobox', { name: 'Repository' }).fill('greet')
    await page.getByRole('option').filter({ hasText: 'greeter' }).click()
    await page.getByRole('textbox', { name: 'Graph configuration' }).fill('graph.json')
    await page
      .getByRole('textbox', { name: 'Build command' })
      .fill(
        `echo Building the first half; ${half.command}; ${PRINTS}; grep Hello greeting.txt || { echo It does not greet; exit 3; }`,
      )
    await page.getByRole('button', { name: 'Create and roll out' }).click()
    await page.waitForURL('**/revisions/**')
    await page.getByText('Building the first half', { exact: true }).waitFor(BUILT)
    await page.getByText('Building', { exact: true }).first().waitFor()
    half.open()
    await page.getByText('Deployed', { exact: true }).first().waitFor(BUILT)
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Deployments' }).click()
    await row(page).getByText('Serving').waitFor()
    await stayed()
  },
)

test('its build log has its colours and whole lines, and draws few of its thousands of rows', async ({ open }) => {
  const { page } = await signedIn(open)
  await row(page).getByRole('link').first().click()
  await page.getByRole('link', { name: '#1' }).first().click()
  await page.getByText('Build log', { exact: true }).click()
  const log = page.getByRole('region', { name: 'Build log' })
  const rows = log.locator('[data-index]')
  const last = rows.filter({ hasText: /2999 (word ?)+$/ })
  const fromEnd = () => log.evaluate((it) => it.scrollHeight - it.scrollTop - it.clientHeight)
  await last.waitFor()
  await expect.poll(fromEnd).toBeLessThan(5)
  const lines = async () => Math.round((await last.boundingBox())!.height / 20)
  expect(await lines()).toBeGreaterThan(1)
  const green = last.getByText('2999', { exact: true })
  const colour = (it: Element) => getComputedStyle(it).color
  expect(await green.evaluate(colour)).not.toBe(await last.evaluate(colour))

  await page.getByRole('button', { name: 'Wrap' }).click()
  await expect.poll(lines).toBe(1)
  await expect.poll(fromEnd).toBeLessThan(5)
  await page.reload()
  await last.waitFor()
  expect(await lines()).toBe(1)
  await page.getByRole('button', { name: 'Wrap' }).click()
  await expect.poll(lines).toBeGreaterThan(1)

  await log.press('Home')
  await log.getByText('Building the first half', { exact: true }).waitFor()
  expect(await rows.count()).toBeLessThanOrEqual(200)
  // the browser's own search only sees the drawn rows
  await log.press('Control+f')
  await page.keyboard.type('2999')
  await expect.poll(() => rows.count()).toBe(1)
  await last.getByText('2999', { exact: true }).waitFor()
})

test('it breaks: the list says so and why, live, and the log has the error', LONG, async ({ open }) => {
  const { page } = await signedIn(open)
  await row(page).getByText('Serving').waitFor()
  const stayed = await unreloaded(page)
  const { resources } = await rest('GET', '/v2/deployments?name=greeter')
  await repository.push('Good bye')
  await rest('PATCH', `/v2/deployments/${resources[0].id}`, { source_revision_config: { repo_ref: 'main' } })
  await row(page).getByText('Build failed').waitFor(BUILT)
  await row(page).getByText('exit code 3').waitFor()
  await stayed()
})

test('a push fixes it, and the newest commit is deployed from the page of the failed build', LONG, async ({ open }) => {
  const { page } = await signedIn(open)
  await repository.push('Hello again')
  await row(page).getByRole('link').first().click()
  // the cause appears once
  expect(await page.getByText(/exit code 3/).count()).toBe(1)
  await page.getByRole('button', { name: 'Deploy newest commit' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Deploy' }).click()
  const line = page.getByRole('list', { name: 'Rollout of revision 3' })
  await line.getByLabel('Serving: done').waitFor(BUILT)
  await page.getByRole('button', { name: 'Deploy newest commit' }).waitFor({ state: 'detached' })
})

test('its server is killed and returns: the page says so, recovers, and shows the events in between', async ({
  open,
}) => {
  const { page, guards } = await signedIn(open)
  const stayed = await unreloaded(page)
  await page.getByText('Live', { exact: true }).waitFor()
  // the browser's console lines about an unreachable server
  guards.allow(/^console: (Failed to load resource: net::ERR_|WebSocket connection to .* failed)/)
  await server.kill()
  await page.getByText('Connection lost').waitFor()
  await server.start()
  await rest('POST', '/v2/deployments', {
    name: 'made-meanwhile',
    source: 'internal_container',
    source_config: {},
    source_revision_config: {},
    secrets: [],
  })
  await page.getByRole('row').filter({ hasText: 'made-meanwhile' }).waitFor({ timeout: 30_000 })
  await page.getByText('Live', { exact: true }).waitFor()
  await stayed()
})
