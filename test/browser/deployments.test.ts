// The list of deployments: changes show without a reload, filters are in the address, keys control everything.
import { randomUUID } from 'node:crypto'
import type { Request } from 'playwright-core'
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { createDeployment, rest } from './rest.ts'
import { signIn } from './sign-in.ts'

const { url, key, workspaceId } = inject('server')

const create = (name: string) => createDeployment(name, 'registry.example.com/agent:1.2.3')

test('Creates, tags and deletions appear live, and the row shows the next revision and why it is not live', async ({
  page,
}) => {
  const prefix = `shown-${randomUUID().slice(0, 8)}`
  await signIn(page, url, { key }, `/w/${workspaceId}/deployments?q=${prefix}`)
  await page.getByText('No match').waitFor()
  const { id } = await create(`${prefix}-one`)
  const row = page.getByRole('row').filter({ hasText: `${prefix}-one` })
  await row.getByText('Nothing yet').waitFor()
  await row.getByText('#1').waitFor()
  await row.getByText(/^Waiting for /).waitFor()
  const tagged = await rest('POST', '/graphql', {
    query: `mutation ($input: SetDeploymentTagsInput!) { setDeploymentTags(input: $input) { __typename ... on Error { message } } }`,
    variables: { input: { deploymentId: id, tags: [{ key: 'team', value: prefix }] } },
  })
  expect(tagged.data.setDeploymentTags).toEqual({ __typename: 'SetDeploymentTagsSuccess' })
  await row.getByText(`team: ${prefix}`).waitFor()
  await page.getByRole('button', { name: /^All 1$/ }).waitFor()
  await page.getByRole('combobox', { name: 'Tag' }).click()
  await page.getByRole('option', { name: `team: ${prefix} · 1` }).click()
  await page.waitForURL('**tag=*')
  await row.waitFor()
  await rest('DELETE', `/v2/deployments/${id}?force=true`)
  await page.getByText('No match').waitFor()
})

test('A truncated sentence is shown in full on hover and on focus', async ({ page }) => {
  await signIn(page, url, { key }, `/w/${workspaceId}/deployments?q=triage-agent`)
  const link = page.getByRole('row').getByRole('link', { name: 'triage-agent' })
  await link.focus()
  const whole = page.getByRole('tooltip').filter({ hasText: /^Build command [^(]* failed with exit code 1[^(]*$/ })
  await whole.waitFor()
  await page.keyboard.press('Escape')
  await whole.waitFor({ state: 'detached' })
  await page.getByText('Build command').hover({ force: true })
  await whole.waitFor()
  expect(await link.getAttribute('aria-describedby')).toBe(
    await page.getByText('Build command').first().getAttribute('id'),
  )
})

test('Search, filters and order are in the address, and keys reach a row', async ({ page }) => {
  const prefix = `keys-${randomUUID().slice(0, 8)}`
  await create(`${prefix}-a`)
  const { id } = await create(`${prefix}-b`)
  await signIn(page, url, { key }, `/w/${workspaceId}/deployments`)
  await page.getByRole('table', { name: 'Deployments' }).waitFor()
  await page.keyboard.press('/')
  await page.keyboard.type(prefix)
  await page.waitForURL(`**/deployments?q=${prefix}`)
  await page.getByRole('button', { name: /^All 2$/ }).waitFor()
  await page.getByRole('button', { name: /^Serving 0$/ }).click()
  await page.waitForURL(`**/deployments?q=${prefix}&state=serving`)
  await page.getByRole('button', { name: 'Show all' }).waitFor()
  await page.goBack()
  await page.goto(`/w/${workspaceId}/deployments?q=${prefix}&sort=-name`)
  const names = page.getByRole('row').getByRole('link')
  await names.nth(1).waitFor()
  expect(await names.allTextContents()).toEqual([`${prefix}-b`, `${prefix}-a`])
  expect(await page.getByRole('columnheader', { name: 'Name' }).getAttribute('aria-sort')).toBe('descending')
  await page.getByRole('textbox', { name: 'Search by name' }).focus()
  for (const press of ['ArrowDown', 'ArrowDown', 'ArrowUp', 'Enter']) await page.keyboard.press(press)
  await page.waitForURL(`**/deployments/${id}`)
})

test('The list begins with failures, then rollouts in progress; order and density are remembered', async ({ page }) => {
  await signIn(page, url, { key }, `/w/${workspaceId}/deployments`)
  const names = page.getByRole('row').getByRole('link')
  await names.nth(2).waitFor()
  const place = async (name: string) => (await names.allTextContents()).indexOf(name)
  for (const failed of ['triage-agent', 'report-agent'])
    expect(await place(failed)).toBeLessThan(await place('research-agent'))
  expect(await place('research-agent')).toBeLessThan(await place('support-agent'))
  await page.getByRole('button', { name: 'Dense rows' }).click()
  await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click()
  await page.waitForURL('**sort=name')
  await page.goto(`/w/${workspaceId}/deployments`)
  await names.nth(2).waitFor()
  const shown = await names.allTextContents()
  expect(shown).toEqual(shown.toSorted())
  expect((await page.getByRole('row').nth(1).boundingBox())!.height).toBe(36)
})

test('A queued deployment is Waiting in its row and in the counts, and a failed one serves nothing', async ({
  page,
}) => {
  const prefix = `turn-${randomUUID().slice(0, 8)}`
  const { id } = await create(prefix)
  await signIn(page, url, { key }, `/w/${workspaceId}/deployments?q=${prefix}&state=waiting`)
  const row = page.getByRole('row').filter({ hasText: prefix })
  await row.getByText('Waiting', { exact: true }).waitFor()
  await page.getByRole('button', { name: /^Waiting 1$/ }).waitFor()
  await page.getByRole('button', { name: /^In progress 0$/ }).waitFor()
  const { latest_revision_id } = await rest('GET', `/v2/deployments/${id}`)
  await rest('POST', `/v2/deployments/${id}/revisions/${latest_revision_id}/interrupt`)
  await page.getByRole('button', { name: /^All 1$/ }).click()
  await row.getByText('Nothing', { exact: true }).waitFor()
  await rest('DELETE', `/v2/deployments/${id}?force=true`)
})

test('A first load of the list takes at most 11 requests and 260 KB', async ({ page }) => {
  await signIn(page, url, { key }, '/docs')
  const requests: Request[] = []
  let sockets = 0
  page.on('request', (request) => void requests.push(request))
  page.on('websocket', () => void sockets++)
  await page.goto(`/w/${workspaceId}/deployments`)
  await page.getByRole('row').getByRole('link').nth(2).waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  await page.waitForLoadState('networkidle')
  // later requests follow changes and are no part of the first load
  const bytesOf = new Map<string, number>()
  for (const request of requests) {
    const { responseBodySize } = await request.sizes()
    bytesOf.set(`${new URL(request.url()).pathname} ${request.postDataJSON()?.operationName ?? ''}`, responseBodySize)
  }
  const loaded = [...bytesOf].map(([what, bytes]) => ({ what, bytes }))
  const told = loaded.map(({ what, bytes }) => `${what} ${bytes}`).join('\n')
  expect(loaded.length + sockets, told).toBeLessThanOrEqual(11)
  expect(
    loaded.reduce((sum, { bytes }) => sum + bytes, 0),
    told,
  ).toBeLessThanOrEqual(260_000)
})
