// OAuth: from the provider that an admin adds to the account of an agent, with consent at a real provider, and the
// pages without rights.
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { signIn } from './sign-in.ts'

const { url, key, keys, workspaceId } = inject('server')
const { authUrl, tokenUrl, clientId, clientSecret, providerId, url: issuer } = inject('provider')

test('a provider is added and changed, an account there connected for an agent, let go of, and the provider deleted', async ({
  page,
  guards,
}) => {
  await signIn(page, url, { key }, `/w/${workspaceId}/oauth?tab=providers`)
  await page.getByRole('button', { name: 'New provider' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Acme')
  await dialog.getByLabel('Id', { exact: true }).fill('not an id')
  await dialog.getByLabel('Authorization URL').fill(authUrl)
  await dialog.getByLabel('Token URL').fill(tokenUrl)
  await dialog.getByLabel('Client id').fill(clientId)
  await dialog.getByLabel('Client authentication').selectOption('client_secret_basic')
  await dialog.getByLabel('Client secret').fill(clientSecret)
  await page.keyboard.press('Enter')
  // the error is at the field, which gets the focus
  const id = dialog.getByLabel('Id', { exact: true })
  await expect.poll(() => id.getAttribute('aria-invalid')).toBe('true')
  await expect.poll(() => id.evaluate((input) => input === document.activeElement)).toBe(true)
  await id.fill(providerId)
  await page.keyboard.press('Enter')
  const card = page.getByRole('article', { name: 'Acme', exact: true })
  await card.getByText(`${url}/v2/auth/callback/${providerId}`).waitFor()
  expect(await page.content()).not.toContain(clientSecret)

  await card.getByRole('button', { name: 'Actions for Acme' }).click()
  await page.getByRole('menuitem', { name: 'Change' }).click()
  await dialog.getByLabel('Name').fill('Acme Mail')
  await page.keyboard.press('Enter')
  await page.getByRole('article', { name: 'Acme Mail' }).waitFor()

  await page.getByRole('tab', { name: 'My accounts' }).click()
  await page.getByRole('button', { name: 'Connect an account' }).first().click()
  await dialog.getByLabel('Scopes').fill('read')
  await dialog.getByLabel('Agent').fill('mail-agent')
  await page.keyboard.press('Enter')
  // the provider’s pages are another origin
  guards.allow(new RegExp(`^another origin: ${issuer}`))
  const consents = page.context().waitForEvent('page')
  await dialog.getByRole('link', { name: 'Go to the provider' }).click()
  await (await consents).waitForURL(`${url}/**`)
  await dialog.waitFor({ state: 'hidden' })
  await page.getByRole('article').getByText('read', { exact: true }).waitFor()

  // the page lists the agents that use it
  await page.getByRole('tab', { name: 'Agents' }).click()
  const link = page.getByRole('article', { name: /^mail-agent/ })
  await link.getByRole('button', { name: 'mail-agent' }).click()
  await page.waitForURL('**agent=mail-agent')
  await link.getByRole('button', { name: 'Disconnect' }).click()
  await dialog.getByRole('button', { name: 'Disconnect' }).click()
  await page.getByText('“mail-agent” may use none of your accounts.').waitFor()
  await page.getByRole('button', { name: 'Connect', exact: true }).click()
  await link.waitFor()

  await page.getByRole('tab', { name: 'Providers' }).click()
  await page.getByRole('button', { name: 'Actions for Acme Mail' }).click()
  await page.getByRole('menuitem', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  // a person has an account there
  await dialog.getByRole('alert').waitFor()
  await dialog.getByLabel('Also delete all users’ accounts').check()
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No providers').waitFor()
})

test('without the role admin, providers are visible but have no actions', async ({ page }) => {
  await signIn(page, url, { key: keys.deployer }, `/w/${workspaceId}/oauth?tab=providers`)
  await page.getByText('No providers').waitFor()
  expect(await page.getByRole('button', { name: /New provider|From an MCP server/ }).count()).toBe(0)
})
