// The workspace switcher: callers of the whole organization change workspaces and create one; others see only theirs.
import { randomUUID } from 'node:crypto'
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { signIn } from './sign-in.ts'

test('a workspace is created, found by a part of its name, and left again', async ({ page }) => {
  const { url, wideKey, workspaceId } = inject('server')
  const name = `team-${randomUUID().slice(0, 8)}`
  await signIn(page, url, { key: wideKey }, `/w/${workspaceId}/deployments`)
  const switcher = page.getByTitle('Switch workspace')
  await switcher.click()
  await page.getByRole('button', { name: 'New workspace' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Default')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByText('already exists').waitFor()
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.waitForURL((to) => to.pathname.startsWith('/w/') && !to.pathname.includes(workspaceId))
  await switcher.getByText(name).waitFor()
  expect(await page.getByText('support-agent').count()).toBe(0)

  await switcher.click()
  await page.getByLabel('Find a workspace').fill('defau')
  await page.getByRole('option', { name: 'Default' }).click()
  await page.waitForURL(new RegExp(workspaceId))
  await page.getByText('support-agent').first().waitFor()
})

test('a key of one workspace is offered no other', async ({ page }) => {
  const { url, key, workspaceId } = inject('server')
  await signIn(page, url, { key }, `/w/${workspaceId}/activity`)
  await page.getByText('Default', { exact: true }).first().waitFor()
  expect(await page.getByTitle('Switch workspace').count()).toBe(0)
})
