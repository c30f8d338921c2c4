// The page of a deployment: its revisions and its actions.
import type { Page } from 'playwright-core'
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { createDeployment, rest } from './rest.ts'
import { signIn } from './sign-in.ts'

const { url, key, keys, workspaceId, ids } = inject('server')

async function openDeployment(page: Page, name: string, by = key): Promise<void> {
  await signIn(page, url, { key: by }, `/w/${workspaceId}/deployments/${ids[name]}`)
  await page.getByRole('heading', { name, exact: true }).waitFor()
  await page.getByRole('list', { name: 'Revisions, newest first' }).waitFor()
}

const entry = (page: Page, number: number) =>
  page
    .getByRole('list', { name: 'Revisions, newest first' })
    .getByRole('listitem')
    .filter({ hasText: `#${number}` })
    .first()

/** The number of the serving revision. */
async function serving(name: string): Promise<number> {
  const id = ids[name]
  const { active_revision_id: active } = await rest('GET', `/v2/deployments/${id}`)
  return (await rest('GET', `/v2/deployments/${id}/revisions/${active}`)).number
}

test('a new revision appears live, and a rollback first shows its changes', async ({ page }) => {
  await openDeployment(page, 'support-agent')
  const before = await serving('support-agent')
  await entry(page, before).getByText('Serves', { exact: true }).waitFor()
  const change = { set: [{ name: 'SEARCH_URL', value: 'https://search.example.com' }] }
  await rest('PATCH', `/v2/deployments/${ids['support-agent']}/secrets`, change)
  await entry(page, before + 1)
    .getByText('Serves', { exact: true })
    .waitFor()
  expect(await entry(page, before + 1).innerText()).toContain('Secrets changed')
  await page
    .getByRole('list', { name: `Rollout of revision ${before + 1}` })
    .getByLabel('Serving: done')
    .waitFor()

  await entry(page, before).getByRole('button', { name: 'Roll back' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('SEARCH_URL').waitFor()
  expect(await dialog.innerText()).toContain('removed')
  await dialog.getByRole('button', { name: 'Roll back' }).click()
  await dialog.waitFor({ state: 'hidden' })
  await entry(page, before).getByText('Serves', { exact: true }).waitFor()
  await entry(page, before).getByText('redeployed').waitFor()
  expect(await serving('support-agent')).toBe(before)
})

test('a rollback from the revision’s page says when it serves', async ({ page }) => {
  await openDeployment(page, 'support-agent')
  await entry(page, 2).getByRole('link', { name: '#2' }).click()
  await page.getByRole('heading', { name: 'support-agent #2' }).waitFor()
  const before = await serving('support-agent')
  await page
    .getByRole('main')
    .getByRole('button', { name: before > 2 ? 'Roll back' : 'Redeploy' })
    .click()
  const dialog = page.getByRole('dialog')
  await dialog
    .getByText(/serves until|revision restarts/)
    .first()
    .waitFor()
  await dialog.getByRole('button', { name: /Roll back|Redeploy/ }).click()
  await dialog.waitFor({ state: 'hidden' })
  await page.getByText(/attempt \d/).waitFor()
  await page.getByRole('main').getByText('Serves', { exact: true }).waitFor()
  expect(await serving('support-agent')).toBe(2)
})

test('the duration of rollouts is a chart with a link to each rollout, and a table', async ({ page }) => {
  await openDeployment(page, 'billing-agent')
  const picture = page.getByRole('img', { name: /^\d+ rollouts, #1 to #\d+\. Live after / })
  await picture.hover()
  await page.getByText(/^#\d+: deployed after .*deploy \d/).waitFor()
  await page.getByText('Show table').click()
  await page.getByRole('cell', { name: '#2', exact: true }).getByRole('link').waitFor()
  await picture.click()
  await page.waitForURL('**/revisions/*')
  await page.getByRole('heading', { name: /^billing-agent #/ }).waitFor()
})

test('older revisions that were loaded on request update live, too', async ({ page }) => {
  const image = (version: number) => `registry.example.com/old-agent:1.${version}.0`
  const { id, latest_revision_id: first } = await createDeployment('old-agent', image(1))
  const more = (version: number) =>
    rest('PATCH', `/v2/deployments/${id}`, { source_revision_config: { image_uri: image(version) } })
  for (let version = 2; version <= 22; version++) await more(version)
  ids['old-agent'] = id
  await openDeployment(page, 'old-agent')
  const list = page.getByRole('list', { name: 'Revisions, newest first' })
  const oldest = list.getByRole('listitem').filter({ has: page.getByRole('link', { name: '#1', exact: true }) })
  await page.getByRole('button', { name: 'Older revisions' }).click()
  await oldest.getByText('Skipped').waitFor()
  await more(23)
  await list.getByRole('listitem').filter({ hasText: '1.23.0' }).waitFor()
  await rest('POST', `/v2/deployments/${id}/revisions/${first}/redeploy`)
  await oldest.getByText('redeployed').waitFor()
  await expect.poll(() => list.getByRole('button', { name: /^More actions for #/ }).count()).toBe(23)
})

test('a concurrent change during a confirmation asks again, and does nothing', async ({ page }) => {
  await openDeployment(page, 'support-agent')
  await page.getByRole('button', { name: 'More actions', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Redeploy' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('The revision restarts').waitFor()
  const [tag] = (await rest('GET', `/v2/deployments/${ids['support-agent']}/revisions`)).resources
  // the server refuses before the page has received the change
  await page.route('**/graphql', async (route) => {
    if (route.request().postData()?.includes('redeployRevision'))
      await rest('POST', `/v2/deployments/${ids['support-agent']}/revisions/${tag.id}/redeploy`)
    await route.continue()
  })
  await dialog.getByRole('button', { name: 'Redeploy' }).click()
  await dialog.getByRole('alert').getByText('was changed in the meantime').waitFor()
})

test('a viewer sees the state and no actions', async ({ page }) => {
  await openDeployment(page, 'triage-agent', keys.viewer)
  await page.getByText('Build failed').first().waitFor()
  for (const name of ['Redeploy', 'Roll back', 'Interrupt'])
    expect(await page.getByRole('button', { name }).count(), name).toBe(0)
  await page.getByRole('button', { name: 'More actions', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Compare revisions' }).waitFor()
  expect(await page.getByRole('menuitem', { name: 'Delete…' }).count()).toBe(0)
  await page.keyboard.press('Escape')
  await page.getByRole('menuitem', { name: 'Compare revisions' }).waitFor({ state: 'hidden' })
})

test('deleting one requires its name', async ({ page }) => {
  const { id } = await rest('POST', '/v2/deployments', {
    name: 'short-lived',
    source: 'internal_container',
    source_config: {},
    source_revision_config: {},
    secrets: [{ name: 'TOKEN', value: 'x' }],
  })
  ids['short-lived'] = id
  await openDeployment(page, 'short-lived')
  await page.getByRole('button', { name: 'More actions', exact: true }).click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.innerText()).toContain('TOKEN')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('alert').getByText('Type short-lived').waitFor()
  await dialog.getByRole('textbox').fill('short-lived')
  await dialog.getByRole('button', { name: 'Delete' }).click()
  await page
    .getByText(/Being deleted|may have been deleted/)
    .first()
    .waitFor()
})

test('a comparison has an address, and a foreign id is a plain not found', async ({ page }) => {
  const { resources } = await rest('GET', `/v2/deployments/${ids['triage-agent']}/revisions`)
  const [to, from] = resources as { id: string; number: number }[]
  const of = `/w/${workspaceId}/deployments/${ids['triage-agent']}/compare`
  await signIn(page, url, { key }, `${of}?from=${from!.id}&to=${to!.id}`)
  await page.getByRole('region', { name: 'Commit' }).waitFor()
  expect(await page.getByRole('combobox', { name: 'To' }).inputValue()).toContain(`#${to!.number}`)
  await page.getByRole('button', { name: 'Swap' }).click()
  await page.waitForURL((now) => now.searchParams.get('from') === to!.id)
  await page.goto(`${of}?from=${from!.id}&to=11111111-1111-4111-8111-111111111111`)
  await page.getByText('Not found').waitFor()
})
