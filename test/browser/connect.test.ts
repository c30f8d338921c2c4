// A login of the command line, decided in the browser: the machine's calls are those of the command.
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { signIn } from './sign-in.ts'

interface Begun {
  id: string
  secret: string
  code: string
  url: string
}

async function begin(name: string): Promise<Begun> {
  const response = await fetch(`${inject('server').url}/v2/logins`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name }),
  })
  expect(response.status).toBe(201)
  return (await response.json()) as Begun
}
const outcomeOf = async ({ id, secret }: Begun) => {
  const response = await fetch(`${inject('server').url}/v2/logins/${id}`, { headers: { 'x-login-secret': secret } })
  return (await response.json()) as { status: string; key: string | null; role: string | null }
}

test('a signed-out person signs in first, comes back, compares the code, and approves', async ({ page }) => {
  const { key } = inject('server')
  const login = await begin('ada-laptop')
  await page.goto(login.url)
  await page.waitForURL('**/sign-in?**')
  await page.getByLabel('API key').fill(key)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByTestId('code').getByText(login.code).waitFor()
  await page.getByText('ada-laptop').first().waitFor()
  await page.getByLabel('Role').selectOption('viewer')
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('Approved. Go back to the command line').waitFor()
  const outcome = await outcomeOf(login)
  expect(outcome).toMatchObject({ status: 'approved', role: 'viewer', key: expect.stringMatching(/^cpk_/) })
  expect(await page.content()).not.toContain(outcome.key)
  await page.reload()
  await page.getByText('Approved. Go back to the command line').waitFor()
})

test('a deployer can’t give the role admin, and refuses', async ({ page }) => {
  const { url, keys } = inject('server')
  await signIn(page, url, { key: keys.deployer })
  const login = await begin('build-box')
  await page.goto(login.url)
  const role = page.getByLabel('Role')
  await role.waitFor()
  expect(await role.getByRole('option').allTextContents()).toHaveLength(2)
  await page.getByRole('button', { name: 'Refuse' }).click()
  await page.getByText('Refused. The command line gets no key.').waitFor()
  expect(await outcomeOf(login)).toMatchObject({ status: 'refused', key: null })
})

test('a person enters the code by hand, and an unknown one is explained', async ({ page }) => {
  const { url, key } = inject('server')
  await signIn(page, url, { key })
  const login = await begin('by-hand')
  await page.goto('/connect')
  await page.getByLabel('Code').fill('BBBB-BBBB')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('No login has the code').waitFor()
  await page.goto('/')
  await page.goto('/connect')
  await page.getByLabel('Code').fill(login.code.toLowerCase())
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('by-hand').first().waitFor()
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('Approved. Go back to the command line').waitFor()
})
