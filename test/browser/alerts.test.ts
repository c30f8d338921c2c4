// Alerts: a rule and a webhook endpoint are made, the secret is shown once, and the endpoint is tested.
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { signIn } from './sign-in.ts'

test('a rule and an endpoint are made, and the secret of the endpoint is shown once', async ({ page }) => {
  const { url, key, workspaceId } = inject('server')
  await signIn(page, url, { key }, `/w/${workspaceId}/alerts`)
  await page.getByText('No alert is firing.').waitFor()
  await page.getByRole('button', { name: 'New rule' }).click()
  await page.getByLabel('Name').fill('too many errors')
  await page.getByLabel('Alert when').selectOption('error_rate')
  await page.getByRole('textbox', { name: 'Threshold' }).fill('2')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const rules = page.getByRole('region', { name: 'Rules' })
  await rules.getByText('Requests fail: 2 % of the requests, 5 min').waitFor()
  await rules.getByRole('switch', { name: 'too many errors is on' }).click({ force: true })
  await expect.poll(() => rules.getByRole('switch', { name: 'too many errors is on' }).isChecked()).toBe(false)

  await page.getByRole('button', { name: 'New endpoint' }).click()
  await page.getByLabel('Name').fill('on-call phone')
  await page.getByRole('textbox', { name: 'URL' }).fill('https://10.0.0.1/hook')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('is at a private address').waitFor()
  await page.getByRole('textbox', { name: 'URL' }).fill('https://hooks.invalid/hook')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const secret = await page.getByText(/^whsec_/).textContent()
  await page.getByRole('button', { name: 'Done' }).click()
  const endpoints = page.getByRole('region', { name: 'Webhook endpoints' })
  await endpoints.getByText('on-call phone').waitFor()
  expect(await page.content()).not.toContain(secret!.trim())
  await endpoints.getByRole('button', { name: 'Actions for on-call phone' }).click()
  await page.getByRole('menuitem', { name: 'Send a test message' }).click()
  await page.getByText('on-call phone did not take the test message').waitFor()
})
