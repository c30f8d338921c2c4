// The page of a new deployment: from a repository found by a part of its name, and from a folder that the browser
// packs.
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { signIn } from './sign-in.ts'

const AGENT = fileURLToPath(new URL('../../src/cli/demo-agent', import.meta.url))

async function begin(page: Page, from: string): Promise<void> {
  const { url, key, workspaceId } = inject('server')
  await signIn(page, url, { key }, `/w/${workspaceId}/deployments/new`)
  await page.getByText(from, { exact: true }).click()
}

const apiRequest = (page: Page) => page.getByRole('region', { name: 'API request' })

test('a repository is searched during typing; the form ends on the rollout page', async ({ page }) => {
  const name = `from-git-${randomUUID().slice(0, 8)}`
  await begin(page, 'Git repository')
  await page.getByRole('combobox', { name: 'Repository' }).fill('support')
  await page.getByRole('option', { name: 'support-agent' }).click()
  expect(await page.getByLabel('Branch or tag').inputValue()).toBe('main')
  expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('support-agent')
  // the name is taken: the error is at its field, and the API example follows the input
  await page.getByRole('button', { name: 'Create and roll out' }).click()
  await page.getByText('already exists').waitFor()
  await page.getByRole('textbox', { name: 'Name' }).fill(name)
  await apiRequest(page).getByText(`"name": "${name}"`).waitFor()
  await page.getByText('GraphQL', { exact: true }).click()
  await apiRequest(page).getByText(`name: "${name}"`).waitFor()
  await page.getByRole('button', { name: 'Create and roll out' }).click()
  await page.waitForURL(/\/revisions\//)
  // story.test.ts shows how it goes live
  await page.getByRole('heading', { name: `${name} #1` }).waitFor()
})

test('a folder is packed and sent by the page', { timeout: 90_000 }, async ({ page }) => {
  const name = `from-folder-${randomUUID().slice(0, 8)}`
  await begin(page, 'Folder')
  await page.locator('input[webkitdirectory]').setInputFiles(AGENT)
  await page.getByText('6 files').waitFor()
  await page.getByRole('textbox', { name: 'Name' }).fill(name)
  await page.getByRole('button', { name: 'Add a secret' }).click()
  await page.getByLabel('Name of secret 1').fill('TOKEN')
  await page.getByLabel('Value of secret 1').fill('not for the script')
  expect(await apiRequest(page).textContent()).toContain('"TOKEN"')
  expect(await apiRequest(page).textContent()).not.toContain('not for the script')
  await page.getByRole('button', { name: 'Create and roll out' }).click()
  await page.waitForURL(/\/revisions\//)
  await page.getByText('Deployed').first().waitFor({ timeout: 60_000 })
})

test('a viewer gets no form', async ({ page }) => {
  const { url, keys, workspaceId } = inject('server')
  await signIn(page, url, { key: keys.viewer }, `/w/${workspaceId}/deployments/new`)
  await page.getByText('You can’t create deployments').waitFor()
})
