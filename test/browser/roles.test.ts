// Roles on the pages, and links into another workspace.
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { signIn } from './sign-in.ts'

test('a viewer sees everything and no action that would be refused; a deployer sees its actions', async ({ open }) => {
  const { url, keys, workspaceId, ids } = inject('server')
  for (const [key, isOffered] of [
    [keys.viewer, false],
    [keys.deployer, true],
  ] as const) {
    const { page } = await open()
    await signIn(page, url, { key })
    await page.getByRole('link', { name: 'support-agent', exact: true }).waitFor()
    await expect.poll(() => page.getByRole('link', { name: 'New deployment' }).count()).toBe(Number(isOffered))
    await page.goto(`/w/${workspaceId}/deployments/${ids['support-agent']}/settings`)
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    expect(await page.getByRole('button', { name: 'Change OPENAI_API_KEY' }).count()).toBe(Number(isOffered))
    // secrets are never shown over a session without the right to read them
    expect(await page.getByRole('button', { name: 'Reveal' }).count()).toBe(0)
  }
})

test('a link into another workspace is not found, with an id of either workspace', async ({ open }) => {
  const { url, keys, workspaceId, ids, failed } = inject('server')
  const { page, guards } = await open()
  // the browser's console lines about a 404 or 403
  guards.allow(/^console: Failed to load resource: the server responded with a status of 40[34]/)
  await signIn(page, url, { key: keys.stranger })
  await page.waitForURL('**/w/*/deployments')
  const own = new URL(page.url()).pathname.split('/')[2]
  expect(own).not.toBe(workspaceId)
  for (const path of [
    `/w/${workspaceId}/deployments`,
    `/w/${own}/deployments/${ids['support-agent']}/settings`,
    `/w/${own}/deployments/${ids['triage-agent']}/revisions/${failed}`,
  ]) {
    await page.goto(path)
    await page.getByRole('heading', { name: 'Not found' }).waitFor()
    expect(await page.getByText('support-agent').count(), path).toBe(0)
  }
})

test('a sign-in leads only to addresses of this page, whatever the link says', async ({ open }) => {
  const { url, keys } = inject('server')
  for (const to of ['https://example.com/', '//example.com/', 'javascript:alert(1)']) {
    const { page } = await open()
    await page.goto(`${url}/sign-in?to=${encodeURIComponent(to)}`)
    await page.getByLabel('API key').fill(keys.viewer)
    await page.keyboard.press('Enter')
    await page.waitForURL((at) => at.origin === url && /^\/w\/[^/]+\/deployments$/.test(at.pathname))
  }
})
