// How a page reaches an agent: the address in a new tab.
import type { Page } from 'playwright-core'
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { rest } from './rest.ts'
import { signIn } from './sign-in.ts'

const { url, keys, workspaceId, ids } = inject('server')

async function openDeployment(page: Page, name: string): Promise<void> {
  await signIn(page, url, { key: keys.viewer }, `/w/${workspaceId}/deployments/${ids[name]}`)
  await page.getByRole('heading', { name, exact: true }).waitFor()
}

const addressOf = async (name: string): Promise<string> => (await rest('GET', `/v2/deployments/${ids[name]}`)).url

test('a viewer opens an agent that is closed to others in a new tab', async ({ page }) => {
  await openDeployment(page, 'support-agent')
  const address = await addressOf('support-agent')
  const opened = page.waitForEvent('popup')
  await page.getByRole('link', { name: address }).click()
  const tab = await opened
  await tab.getByText('Answer in the language').waitFor()
  // the link's token is in a cookie, not in the address
  expect(tab.url()).toBe(`${address}/`)
  expect(await tab.evaluate(() => [window.opener, document.referrer])).toEqual([null, ''])
  expect(await page.getByRole('alert').count()).toBe(0)
})

test('the tab closes and the page says why when no link can be made', async ({ page, guards }) => {
  guards.allow(/^console: Failed to load resource/)
  await openDeployment(page, 'support-agent')
  await page.route('**/graphql', (route) =>
    route.request().postData()?.includes('createDeploymentLink') ? route.abort() : route.continue(),
  )
  const opened = page.waitForEvent('popup')
  await page.getByRole('link', { name: await addressOf('support-agent') }).click()
  const tab = await opened
  await page.getByRole('alert').getByText('can’t be reached').waitFor()
  expect(tab.isClosed()).toBe(true)
})
