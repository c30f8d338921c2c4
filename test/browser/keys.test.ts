// Keys and sessions: creating, showing once, using and revoking them, and the end of their sessions.
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { signIn } from './sign-in.ts'

const statusOf = async (key: string) =>
  (await fetch(`${inject('server').url}/v2/deployments`, { headers: { 'x-api-key': key } })).status

test('a key is created, shown once, signs a person in, and ends the session when it is revoked', async ({ open }) => {
  const { url, key, workspaceId } = inject('server')
  const { page } = await open()
  await signIn(page, url, { key }, `/w/${workspaceId}/keys`)
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name').fill('night shift')
  await page.getByLabel('Role').selectOption('viewer')
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  const made = (await page.getByTestId('new-key').textContent())!.trim()
  expect(made).toMatch(/^cpk_[\w-]{43}$/)
  expect(await statusOf(made)).toBe(200)
  await page.getByRole('button', { name: 'Done' }).click()
  const keys = page.getByRole('region', { name: 'API keys' })
  await keys.getByText('night shift').waitFor()
  expect(await page.content()).not.toContain(made)

  const other = await open()
  // its last request is refused
  other.guards.allow(/^console: (Failed to load resource: the server responded with a status of 401|WebSocket)/)
  await signIn(other.page, url, { key: made }, `/w/${workspaceId}/keys`)
  await other.page.getByText('this browser').waitFor()
  expect(await other.page.getByRole('button', { name: 'New key' }).count()).toBe(0)
  const sessions = page.getByRole('region', { name: 'Sessions' })
  await sessions.getByText('night shift').waitFor()
  // the key has no owner: the page asks once for it
  const question = other.page.getByRole('region', { name: 'Your name' })
  await question.getByLabel('Your name').fill('Kim')
  await question.getByRole('button', { name: 'Save', exact: true }).click()
  await question.waitFor({ state: 'hidden' })
  await keys.getByText('Kim').waitFor()

  await keys.getByRole('button', { name: 'Revoke night shift' }).click()
  await page.getByRole('button', { name: 'Revoke it' }).click()
  await other.page.waitForURL('**/sign-in**')
  await sessions.getByText('night shift').waitFor({ state: 'hidden' })
  await keys.getByText('night shift').waitFor({ state: 'hidden' })
  expect(await statusOf(made)).toBe(401)
})

test('one half of a session is not enough: neither the part that a page can read nor the cookie', async ({ page }) => {
  const { url, key } = inject('server')
  await signIn(page, url, { key })
  await page.getByText('support-agent').first().waitFor()
  const half = await page.evaluate(() => JSON.parse(localStorage.getItem('pilothouse.session')!).half as string)
  expect(await page.evaluate(() => document.cookie)).toBe('')
  const [cookie] = (await page.context().cookies()).filter(({ name }) => name.startsWith('pilothouse_'))
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
  const asked = async (headers: Record<string, string>) =>
    (await fetch(`${url}/v2/deployments`, { headers: { 'sec-fetch-site': 'same-origin', ...headers } })).status
  const sent = `${cookie!.name}=${cookie!.value}`
  expect(await asked({ cookie: sent, 'x-session': half })).toBe(200)
  expect([await asked({ cookie: sent }), await asked({ 'x-session': half })]).toEqual([401, 401])
})
