// A newcomer finds the answer to each of three questions on the screen, within a few clicks.
import type { Locator, Page } from 'playwright-core'
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { rest } from './rest.ts'
import { signIn } from './sign-in.ts'

const { url, key, workspaceId, ids, keys } = inject('server')

/**
 * Starts at the list of deployments. Returns a function that clicks visible elements, without scrolling, a limited
 * number of times.
 */
async function arrive(page: Page, most: number): Promise<(what: Locator) => Promise<void>> {
  await signIn(page, url, { key }, `/w/${workspaceId}/deployments`)
  let clicks = 0
  return async (what) => {
    await inSight(what)
    expect(++clicks, `${what}: clicks`).toBeLessThanOrEqual(most)
    await what.click()
  }
}

/** Whether it is visible without scrolling. */
async function inSight(what: Locator): Promise<void> {
  await what.waitFor()
  const isInSight = () =>
    what.evaluate((it) => {
      const { top, bottom } = it.getBoundingClientRect()
      return top >= 0 && bottom <= innerHeight
    })
  await expect.poll(isInSight, { message: `${what} is in sight` }).toBe(true)
}

/** With the key of CI. */
const call = (method: string, path: string, body?: object) =>
  rest(method, `/v2/deployments/${ids['support-agent']}${path}`, body, keys.deployer)

/** CI changes a secret; resolves when the new revision serves. */
async function setSecret(name: string): Promise<void> {
  await call('PATCH', '/secrets', { set: [{ name, value: String(Date.now()) }] })
  const { latest_revision_id: latest } = await call('GET', '')
  await call('GET', `/revisions/${latest}?wait=30`)
}

test('why is this one not live? The list says it, and two clicks lead to the line of the log', async ({ page }) => {
  const click = await arrive(page, 3)
  await click(page.getByRole('button', { name: /^Failing / }))
  const row = page.getByRole('row').filter({ hasText: 'triage-agent' })
  await inSight(row.getByText('Build failed'))
  await inSight(row.getByText(/^Build command "grep .*" failed with exit code 1/))
  await click(row.getByRole('link', { name: 'triage-agent' }))
  await inSight(page.getByText('#1 is still serving.'))
  await click(page.getByRole('link', { name: 'View log' }))
  await inSight(page.getByRole('region', { name: 'Build log' }).getByText('$ grep -q Hello greeting.txt'))
})

test('what changed since yesterday? One click shows authors and outcomes, another one the differences', async ({
  page,
}) => {
  await setSecret('TONE')
  const click = await arrive(page, 2)
  await click(page.getByRole('link', { name: 'Changes since yesterday' }))
  const act = page.getByRole('listitem').filter({ hasText: 'support-agent' }).first()
  await inSight(act.getByText('CI', { exact: true }))
  await inSight(act.getByText('Deployed'))
  expect(await page.getByRole('combobox', { name: 'Time range' }).inputValue()).toBe('yesterday')
  // signing in is not listed as a change
  expect(await page.getByText('signed in').count()).toBe(0)
  await click(act.getByRole('link', { name: /^What changed/ }))
  await inSight(page.getByRole('region', { name: 'Secrets' }).getByText('TONE'))
  // the back button returns to the previous place
  await page.goBack()
  await act.waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: 'Deployments' }).waitFor()
})

test('roll back: one button next to the name, which asks with exactly the changes', async ({ page }) => {
  await setSecret('WORSE')
  const click = await arrive(page, 4)
  const search = page.getByRole('textbox', { name: 'Search by name' })
  await click(search)
  await search.fill('support')
  await click(page.getByRole('row').getByRole('link', { name: 'support-agent' }))
  const button = page.getByRole('button', { name: /^Roll back to #\d+$/ })
  await button.waitFor()
  const number = Number((await button.innerText()).replace(/\D/g, ''))
  await click(button)
  const dialog = page.getByRole('dialog')
  await inSight(dialog.getByText('WORSE'))
  await click(dialog.getByRole('button', { name: 'Roll back' }))
  await dialog.waitFor({ state: 'hidden' })
  const entry = page
    .getByRole('list', { name: 'Revisions, newest first' })
    .getByRole('listitem')
    .filter({ has: page.getByRole('link', { name: `#${number}`, exact: true }) })
  await entry.getByText('Serves', { exact: true }).waitFor()
  await page.getByText(`rolled back to #${number} by`).waitFor()
  // the list says so, too
  await page.goBack()
  await page.getByRole('row').filter({ hasText: 'support-agent' }).getByText('Rolled back').waitFor()
})
