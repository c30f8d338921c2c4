// Metrics of a deployment: charts of its page.
import { inject } from 'vitest'
import { expect, test } from './page.ts'
import { rest } from './rest.ts'
import { sharedServer } from './shared.ts'
import { signIn } from './sign-in.ts'

const { url, key, workspaceId, ids } = inject('server')
const id = ids['billing-agent']!
const address = `/w/${workspaceId}/deployments/${id}`

/**
 * Samples of half an hour. The newest revision is 10 minutes old: since then 5 % of its requests fail, its latency is four times
 * as long, it uses 98 % of its memory, and it has restarted twice.
 */
const SAMPLES = `
  WITH live AS (
    SELECT id, row_number() OVER (ORDER BY number DESC) AS nth FROM revisions WHERE deployment_id = $1 AND status = 'DEPLOYED'
  ), moved AS (
    UPDATE revisions r SET deployed_at = now() - CASE nth WHEN 1 THEN interval '10 minutes' ELSE interval '20 hours' END
    FROM live WHERE live.id = r.id
  )
  INSERT INTO metric_chunks (deployment_id, resolution, start, revision_id, source, measures, buckets, counts)
  SELECT $1, 10, date_trunc('minute', now()) - i * interval '10 seconds', id, 1,
    ARRAY[CASE WHEN nth = 1 THEN ARRAY[0, 0, 19, 0, 0, 1, 0, 0, 8, (i IN (12, 30))::int, 980e6, 1e9]
               ELSE ARRAY[0, 0, 20, 0, 0, 0, 0, 0, 4, 0, 512e6, 1e9] END || ARRAY[1, 0, 0]]::real[],
    ARRAY[CASE WHEN nth = 1 THEN 99 ELSE 84 END], ARRAY[20]
  FROM generate_series(1, 180) AS i JOIN live ON nth = CASE WHEN i <= 60 THEN 1 ELSE 2 END`

/** To the server, the hour before its start is rolled up. A second try must not find the samples of the first. */
const NOT_MEASURED = `
  WITH earlier AS (UPDATE metric_rollups SET until = until - interval '1 hour' WHERE resolution = 60)
  DELETE FROM metric_chunks WHERE deployment_id = $1`

const RESTART = `
  INSERT INTO metric_chunks (deployment_id, resolution, start, revision_id, source, measures)
  SELECT id, 10, date_trunc('minute', now()), active_revision_id, 2, ARRAY[ARRAY[0, 0, 0, 0, 0, 0, 0, 0, 0, 1]]::real[]
  FROM deployments WHERE id = $1`

const ONLY_NEWEST = `
  DELETE FROM metric_chunks WHERE deployment_id = $1
    AND revision_id <> (SELECT active_revision_id FROM deployments WHERE id = $1)`

test('charts say whether it is slow, short of memory and restarts, since which rollout, by keyboard and as a table', async ({
  page,
}) => {
  const { sql } = sharedServer()
  await sql(NOT_MEASURED, id)
  await sql(SAMPLES, id)
  const { number } = (await rest('GET', `/v2/deployments/${id}/revisions`)).resources[0]
  await signIn(page, url, { key }, address)
  const metrics = page.getByRole('region', { name: 'Metrics', exact: true })
  await metrics.getByText(/^Dashed lines: rollouts/).waitFor()
  await metrics.getByRole('link', { name: `#${number}` }).waitFor()
  await metrics.getByText(`⚠ Worse since #${number}`).waitFor()
  expect(await metrics.innerText()).toMatch(/errors 0 % → 5 %, p95 latency \d+ ms → 1\.\d+ s/)
  await metrics.getByText(/% of 1 GB, highest 98 %: short of memory/).waitFor()
  await metrics.getByText(/^⚠ 2, the last at /).waitFor()

  const latency = metrics.getByRole('slider', { name: /^Latency/ })
  await latency.focus()
  await page.keyboard.press('End')
  for (let i = 0; i < 40; i++) await page.keyboard.press('ArrowLeft')
  expect(await latency.getAttribute('aria-valuetext')).toMatch(
    /: p50 1\.\d+ s, p95: 95 % took at most 1\.\d+ s, p99 1\.\d+ s$/,
  )
  for (let i = 0; i < 6; i++) await page.keyboard.press('PageDown')
  expect(await latency.getAttribute('aria-valuetext')).toMatch(/: p50 2\d\d ms/)
  // the cursor is that of all charts
  const memory = metrics.getByRole('slider', { name: /^Memory/ })
  expect(await memory.getAttribute('aria-valuetext')).toMatch(/: used 512 MB, limit 1 GB$/)

  await metrics.getByText('Show table').click()
  await metrics
    .getByRole('row')
    .filter({ hasText: `#${number}` })
    .waitFor()
  await metrics.getByRole('cell', { name: '980 MB' }).first().waitFor()
  await metrics.getByText('7 d', { exact: true }).click()
  await page.waitForURL('**?range=7d')
  await metrics.getByText(/^⚠ 2, the last at /).waitFor()

  // a new sample shows without a reload
  await sql(RESTART, id)
  await metrics.getByText(/^⚠ 3, the last at /).waitFor()

  await page.getByRole('link', { name: 'Deployments' }).first().click()
  const row = page.getByRole('row').filter({ hasText: 'billing-agent' })
  await row.getByText(/^1[0-2]\d \/ min/).waitFor()
  await row.getByText(/^⚠ 1\.\d % errors/).waitFor()

  // without samples of an older revision, words say how it does
  await sharedServer().sql(ONLY_NEWEST, id)
  await row.getByRole('link', { name: 'billing-agent' }).click()
  await metrics.getByText('⚠ Problems in the last hour:').waitFor()
  expect(await metrics.innerText()).toMatch(
    /: 5 % errors, memory at most 98 % of its limit, 3 restarts. Otherwise: p95 latency mostly 1\.\d+ s\./,
  )
})

test('an agent that has not served says so instead of charts, in a browser whose language is no valid tag, too', async ({
  open,
}) => {
  // the locale of a Chromium in the locale POSIX
  const { page } = await open({ locale: 'en-US@posix' })
  await signIn(page, url, { key }, `/w/${workspaceId}/deployments/${ids['research-agent']}?range=90d`)
  await page.getByText('Nothing was measured yet. The charts begin when a revision serves.').waitFor()
})
