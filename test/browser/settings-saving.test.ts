// The settings of a deployment during concurrent changes by two people: neither loses anything.
import { fileURLToPath } from 'node:url'
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { rest } from './rest.ts'
import { signIn } from './sign-in.ts'

const { url, key, keys, workspaceId } = inject('server')
const AGENT = fileURLToPath(new URL('../../src/cli/demo-agent', import.meta.url))
const IMAGE = 'registry.example.com/acme/agent'

/** A deployment of an image for this test only. */
async function make(name: string, resource_spec: object = { cpu: 1 }) {
  const { id } = await rest('POST', '/v2/deployments', {
    name: `${name}-${Date.now()}`,
    source: 'internal_container',
    source_config: { resource_spec },
    source_revision_config: { image_uri: `${IMAGE}:1` },
    secrets: [
      { name: 'TOKEN', value: 'the-first' },
      { name: 'OTHER', value: 'other' },
    ],
  })
  const path = `/v2/deployments/${id}`
  return { page: `/w/${workspaceId}/deployments/${id}/settings`, path }
}

test('secrets and resources are staged and saved together, after a preview of the result', async ({ page }) => {
  const { page: address, path } = await make('staged')
  await signIn(page, url, { key }, address)

  await page.getByRole('button', { name: 'Change TOKEN' }).click()
  await page.getByLabel('Value of TOKEN').fill('the-second')
  await page.getByRole('button', { name: 'Remove OTHER' }).click()
  await page.getByLabel('Name', { exact: true }).fill('FRESH')
  await page.getByLabel('Value', { exact: true }).fill('brand-new')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByText('3 unsaved changes').waitFor()
  // typed key by key
  await page.getByLabel('CPU', { exact: true }).first().press('Control+a')
  await page.keyboard.type('0.5')
  // the resulting limit, by the server's rule
  await expect.poll(() => page.getByLabel('CPU limit', { exact: true }).first().getAttribute('placeholder')).toBe('1')

  await page.getByRole('button', { name: 'Review and save…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('new value').waitFor()
  await dialog.getByText('Deploys revision #2.').waitFor()
  await dialog.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Revision #2 is rolling out.').waitFor()
  await page.getByRole('region', { name: 'Unsaved changes' }).waitFor({ state: 'detached' })

  const { secrets, source_config } = await rest('GET', path)
  expect(secrets).toEqual([
    { name: 'TOKEN', value: 'the-second' },
    { name: 'FRESH', value: 'brand-new' },
  ])
  expect(source_config.resource_spec).toEqual({ cpu: 0.5 })
  expect(await page.content()).not.toContain('the-second')

  await page.getByRole('button', { name: 'Reveal TOKEN' }).click()
  await page.getByText('the-second').waitFor()
  await page.getByRole('button', { name: 'Hide TOKEN' }).click()
  const { resources } = await rest('GET', `${path}/events?types=secret.revealed`)
  expect(resources).toMatchObject([{ subject_id: 'TOKEN' }])
})

test('a deployment sleeps after the minutes that its settings say, and an empty field is the server’s default', async ({
  page,
}) => {
  const { page: address, path } = await make('sleeps')
  await signIn(page, url, { key }, address)
  const sleep = page.getByRole('region', { name: 'Sleep' })
  const save = async () => {
    await page.getByRole('button', { name: 'Review and save…' }).click()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('region', { name: 'Unsaved changes' }).waitFor({ state: 'detached' })
    const { idle_minutes, source_config } = await rest('GET', path)
    return [source_config.resource_spec.min_scale, idle_minutes]
  }
  await sleep.getByText('runs all the time').waitFor()
  await sleep.getByRole('switch', { name: 'Sleeps when idle' }).press('Space')
  await sleep.getByText('stops after 15 minutes without requests').waitFor()
  await sleep.getByText('1 to 10,080 · default: 15, set by the server').waitFor()
  const minutes = sleep.getByLabel('Minutes without requests')
  await minutes.fill('10081')
  await sleep.getByText('Enter a number from 1 to 10080.').waitFor()
  await minutes.fill('30')
  await sleep.getByText('stops after 30 minutes without requests').waitFor()
  expect(await save()).toEqual([0, 30])
  await minutes.fill('')
  expect(await save()).toEqual([0, null])
})

test('a text is typed key by key: what is no change yet stays in the field', async ({ page }) => {
  const { page: address, path } = await make('typed', { labels: { team: 'a' } })
  await signIn(page, url, { key }, address)
  const labels = page.getByLabel('Labels', { exact: true })
  await labels.press('Control+End')
  await page.keyboard.press('Enter')
  expect(await labels.inputValue()).toBe('team=a\n')
  await page.keyboard.type('tier=gold')
  await page.getByText('1 unsaved change').waitFor()
  await page.getByRole('button', { name: 'Review and save…' }).click()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('is up to date').waitFor()
  expect((await rest('GET', path)).source_config.resource_spec).toEqual({ labels: { team: 'a', tier: 'gold' } })
})

test('a refused save names every field, and the dialog opens again without its error', async ({ page }) => {
  const { page: address } = await make('refused')
  await signIn(page, url, { key }, address)
  await page.getByLabel('Image', { exact: true }).fill('not an image')
  await page.getByRole('button', { name: 'Review and save…' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Save', exact: true }).click()
  await dialog
    .getByRole('alert')
    .getByText(/image_?uri: /i)
    .waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Review and save…' }).click()
  await dialog.getByRole('button', { name: 'Save', exact: true }).waitFor()
  expect(await dialog.getByRole('alert').count()).toBe(0)
})

test('another person’s saved changes appear next to mine, and neither is lost', async ({ page }) => {
  const { page: address, path } = await make('meanwhile')
  await signIn(page, url, { key }, address)
  await page.getByLabel('Image', { exact: true }).fill(`${IMAGE}:mine`)
  await page.getByRole('button', { name: 'Change TOKEN' }).click()
  await page.getByLabel('Value of TOKEN').fill('mine')

  await rest('PATCH', path, { source_revision_config: { image_uri: `${IMAGE}:theirs` } })
  await rest('PATCH', `${path}/secrets`, { set: [{ name: 'THEIRS', value: 'theirs' }] })
  await page.getByText(`Someone else saved ${IMAGE}:theirs.`).waitFor()
  expect(await page.getByRole('button', { name: 'Review and save…' }).isDisabled()).toBe(true)

  await page.getByRole('button', { name: 'Keep mine for Image' }).click()
  await page.getByRole('button', { name: 'Review and save…' }).click()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('is rolling out').waitFor()
  const { secrets, source_revision_config } = await rest('GET', path)
  expect(source_revision_config.image_uri).toBe(`${IMAGE}:mine`)
  expect(secrets).toEqual([
    { name: 'TOKEN', value: 'mine' },
    { name: 'OTHER', value: 'other' },
    { name: 'THEIRS', value: 'theirs' },
  ])
})

test('a save for a version that is old changes nothing; different secrets of two people both stay', async ({
  page,
}) => {
  const { page: address, path } = await make('races')
  await signIn(page, url, { key }, address)
  await page.getByRole('button', { name: 'Change TOKEN' }).click()
  await page.getByLabel('Value of TOKEN').fill('mine')
  await page.getByRole('button', { name: 'Review and save…' }).click()
  // between reading and saving
  let isFirst = true
  await page.route('**/graphql', async (route) => {
    if (isFirst && route.request().postData()?.includes('SaveSecrets')) {
      isFirst = false
      await rest('PATCH', `${path}/secrets`, { set: [{ name: 'OTHER', value: 'theirs' }] })
    }
    await route.continue()
  })
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Revision #3 is rolling out.').waitFor()
  expect((await rest('GET', path)).secrets).toEqual([
    { name: 'TOKEN', value: 'mine' },
    { name: 'OTHER', value: 'theirs' },
  ])
})

test('a second save shows the first one’s values, and writes nothing until the person has chosen', async ({ page }) => {
  const { page: address, path } = await make('second')
  await signIn(page, url, { key }, address)
  await page.getByLabel('Image', { exact: true }).fill(`${IMAGE}:mine`)
  await page.getByRole('button', { name: 'Review and save…' }).click()
  // between reading and saving
  let isFirst = true
  await page.route('**/graphql', async (route) => {
    if (isFirst && route.request().postData()?.includes('SaveSettings')) {
      isFirst = false
      await rest('PATCH', path, { source_revision_config: { image_uri: `${IMAGE}:theirs` } })
    }
    await route.continue()
  })
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Save', exact: true }).click()
  await dialog.getByRole('alert').getByText('Someone else saved first').waitFor()
  expect((await rest('GET', path)).source_revision_config.image_uri).toBe(`${IMAGE}:theirs`)
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Take theirs for Image' }).click()
  expect(await page.getByLabel('Image', { exact: true }).inputValue()).toBe(`${IMAGE}:theirs`)
  await page.getByRole('region', { name: 'Unsaved changes' }).waitFor({ state: 'detached' })
})

test('another folder is set and a command removed: one revision of both', async ({ page }) => {
  const { id } = await rest('POST', '/v2/deployments', {
    name: `uploaded-${Date.now()}`,
    source: 'internal_source',
    source_config: { build_command: 'make' },
    source_revision_config: { graph_config_path: 'graph.json' },
    secrets: [],
  })
  await signIn(page, url, { key }, `/w/${workspaceId}/deployments/${id}/settings`)
  await page.locator('input[webkitdirectory]').setInputFiles(AGENT)
  await page.getByText('6 files').waitFor()
  await page.getByLabel('Build command').fill('')
  await page.getByText('2 unsaved changes').waitFor()
  await page.getByRole('button', { name: 'Review and save…' }).click()
  await page.getByRole('dialog').getByText('Builds and deploys revision #2.').waitFor()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Revision #2 is rolling out.').waitFor()
  const { source_config, source_revision_config } = await rest('GET', `/v2/deployments/${id}`)
  expect(source_config.build_command).toBeNull()
  expect(source_revision_config.source_tarball_path).toContain(id)
  await rest('DELETE', `/v2/deployments/${id}`)
})

test('a viewer reads everything, and can change nothing', async ({ page }) => {
  const { page: address } = await make('viewed')
  await signIn(page, url, { key: keys.viewer }, address)
  await page.getByText('Changing settings requires the deployer role.').waitFor()
  expect(await page.getByLabel('Image', { exact: true }).getAttribute('readonly')).not.toBeNull()
  expect(await page.getByRole('button', { name: /Change|Remove|Reveal|Add/ }).count()).toBe(0)
})
