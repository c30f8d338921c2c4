// Pages of the server outside the dashboard, under the same guards.
import { expect, test } from './page.ts'

test('the documentation of the REST API opens', async ({ open }) => {
  const { page } = await open({ axe: false })
  await page.goto('/docs')
  await page.getByText('/v2/deployments', { exact: true }).first().waitFor()
  expect(await page.title()).toContain('Pilothouse')
})
