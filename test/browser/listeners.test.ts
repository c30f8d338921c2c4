// Listeners and integrations for an admin, with concurrent changes by others, and without rights.
import { randomUUID } from 'node:crypto'
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { rest } from './rest.ts'
import { signIn } from './sign-in.ts'

const { url, key, keys, workspaceId } = inject('server')

test('a listener is registered, gets a key and other namespaces, and is deleted; changes by others appear live', async ({
  page,
}) => {
  const name = `edge-${randomUUID().slice(0, 8)}`
  await signIn(page, url, { key }, `/w/${workspaceId}/listeners`)
  await page.getByRole('button', { name: 'New listener' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Cluster name').fill('prod-eu')
  await dialog.getByLabel('Namespaces').fill('Agents')
  await page.keyboard.press('Enter')
  await dialog.getByText('is no name of a Kubernetes namespace').waitFor()
  await page.keyboard.press('Backspace')
  await dialog.getByLabel('Namespaces').fill('agents')
  await dialog.getByRole('button', { name: 'Register' }).click()
  await dialog.getByText('already exists').waitFor()
  await dialog.getByLabel('Cluster name').fill(name)
  await page.keyboard.press('Enter')
  const card = page.getByRole('article', { name })
  await card.getByText('Not installed yet').waitFor()
  await card.getByRole('button', { name: 'Create key' }).click()
  await card.getByText('Copy the key now').waitFor()

  const { resources } = await rest('GET', '/v2/listeners?limit=100')
  const { id } = resources.find(({ compute_id }: { compute_id: string }) => compute_id === name)
  const change = (...k8s_namespaces: string[]) =>
    rest('PATCH', `/v2/listeners/${id}`, { compute_config: { k8s_namespaces } })
  await change('agents', 'theirs')
  await card.getByText('theirs', { exact: true }).waitFor()

  await card.getByRole('button', { name: `Actions for ${name}` }).click()
  await page.getByRole('menuitem', { name: 'Change namespaces' }).click()
  await dialog.getByLabel('Namespaces').fill('mine')
  await change('agents', 'later')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('Another user changed').waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'hidden' })
  await card.getByText('mine', { exact: true }).waitFor()

  await card.getByRole('button', { name: `Actions for ${name}` }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await card.waitFor({ state: 'hidden' })
})

test('without the role admin, listeners and integrations are visible but have no actions', async ({ page }) => {
  await signIn(page, url, { key: keys.deployer }, `/w/${workspaceId}/listeners`)
  await page.getByRole('article', { name: 'prod-eu' }).waitFor()
  expect(await page.getByRole('button', { name: /New listener|Actions for/ }).count()).toBe(0)
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Integrations' }).click()
  await page.getByRole('button', { name: 'Repositories' }).waitFor()
  expect(await page.getByRole('button', { name: /Connect|Remove/ }).count()).toBe(0)
})

test('repositories are searched, and an app that this server has none of is not connected, with the reason', async ({
  page,
}) => {
  await signIn(page, url, { key }, `/w/${workspaceId}/integrations`)
  await page.getByRole('button', { name: 'Repositories' }).click()
  await page.getByRole('textbox', { name: 'Search repositories' }).fill('triage')
  await page.getByRole('cell', { name: 'support-agent' }).waitFor({ state: 'hidden' })
  await page.getByRole('cell', { name: 'triage-agent' }).waitFor()
  await page.getByRole('button', { name: 'Connect the git provider' }).click()
  await page.getByRole('dialog').getByText('Can’t connect').waitFor()
  await page.keyboard.press('Escape')
  // the focus is back at its place
  const connect = page.getByRole('button', { name: 'Connect the git provider' })
  await expect.poll(() => connect.evaluate((button) => button === document.activeElement)).toBe(true)
})
