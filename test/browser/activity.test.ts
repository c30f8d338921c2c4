// The activity page: new events appear live, filters are in the address.
import { randomUUID } from 'node:crypto'
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { rest } from './rest.ts'
import { signIn } from './sign-in.ts'

test('an action appears at the top, and its entry leads to the resource', async ({ page }) => {
  const { url, key, workspaceId, ids } = inject('server')
  await signIn(page, url, { key }, `/w/${workspaceId}/activity`)
  const row = page.getByRole('listitem')
  await row.first().waitFor()
  const name = `key-${randomUUID().slice(0, 8)}`
  const query = `mutation { createApiKey(input: { name: "${name}", role: viewer }) { __typename } }`
  await rest('POST', '/graphql', { query })
  await row.filter({ hasText: name }).waitFor()

  // filtered by author: the address can be shared
  await row.filter({ hasText: 'billing-agent' }).getByRole('button', { name: 'CI' }).first().click()
  const whom = page.getByRole('combobox', { name: 'Actor' })
  await expect.poll(() => whom.inputValue()).toBe('CI')
  expect(new URL(page.url()).searchParams.get('who')).toBeTruthy()
  await row.filter({ hasText: name }).waitFor({ state: 'detached' })
  await page.reload()
  await row.filter({ hasText: 'billing-agent' }).first().waitFor()
  expect(await row.filter({ hasText: name }).count()).toBe(0)

  await page.getByLabel('Clear the actor').click()
  await page.getByLabel('Event type').selectOption('Keys and sessions')
  await row.filter({ hasText: name }).waitFor()
  expect(await row.filter({ hasText: 'billing-agent' }).count()).toBe(0)

  // filtered by one type, and by a deployment that is found by its name
  await page.getByLabel('Event type').selectOption('Deployment updated')
  await page.getByRole('combobox', { name: 'Deployment' }).fill('triage')
  await page.getByRole('option', { name: 'triage-agent' }).click()
  await row.filter({ hasText: 'triage-agent' }).first().waitFor()
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({
    about: 'deployment.updated',
    deployment: ids['triage-agent'],
  })

  await page.goto(`/w/${workspaceId}/activity?deployment=${ids['triage-agent']}&all=true`)
  // the rollouts and their outcomes
  const broken = row.filter({ hasText: 'Rewrite the prompt' })
  await broken.getByText('Build failed', { exact: true }).waitFor()
  await broken.getByRole('link', { name: 'revision 2', exact: true }).waitFor()
  expect(await row.filter({ hasText: 'billing-agent' }).count()).toBe(0)
})
