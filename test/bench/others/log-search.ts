/** Searches in a log of a million lines among five million lines of other deployments, and what the blocks of lines cost. */
import { randomUUID } from 'node:crypto'
import type { App } from '../../../src/app/app.ts'
import { createBlockWriter } from '../../../src/domain/logs/blocks.ts'
import { writeLog } from '../../support/log.ts'
import { withApp } from './own-app.ts'
import { caller, say, time } from './support.ts'

/** Of the searched deployment; the others have five times as many. */
const LINES = Number(process.env.BENCH_SEARCHED_LINES ?? 1_000_000)
const DEPLOYMENTS = 10
/** Lines that a deployment writes in a row, so its lines are spread over the table. */
const LINES_IN_A_ROW = 20
const LINES_PER_STATEMENT = 60_000

export const searchedLogs = (): Promise<void> => withApp(measure, { LOG_LINES_PER_REVISION: '10000000' })

async function measure(app: App, key: string): Promise<void> {
  const call = caller(app.publicUrl, key)
  const deployments: { id: string; latest_revision_id: string }[] = []
  for (let i = 0; i <= DEPLOYMENTS; i++)
    deployments.push(
      await call('POST', '/v2/deployments', {
        name: `bench-${randomUUID()}`,
        source: 'internal_container',
        source_config: {},
        source_revision_config: { image_uri: 'agent:1' },
        secrets: [],
      }),
    )
  const { db } = app.core
  const inserted = await took(() => insert(app, deployments))
  const lines = LINES * 6
  say(`${lines} lines inserted, µs a line`, ((inserted * 1000) / lines).toFixed(1))
  const blocks = async () => (await db.logBlock.groupBy({ by: ['deploymentId', 'lastId'] })).length
  let indexed = 0
  // the server's job may write some of them at the same time, and then others are left out
  while ((await blocks()) < lines / 1000 - DEPLOYMENTS - 1) {
    await db.logBlock.deleteMany()
    const write = createBlockWriter(app.core)
    indexed = await took(async () => {
      for (let before = -1, now = 0; now !== before; ) {
        before = now
        await write(new AbortController().signal)
        now = await db.logBlock.count()
      }
    })
  }
  say('  their blocks, µs a line', ((indexed * 1000) / lines).toFixed(1))
  const [size] = await db.$queryRaw<{ lines: bigint; blocks: bigint; text: bigint }[]>`
    SELECT pg_total_relation_size('log_lines') AS lines, pg_total_relation_size('log_blocks') AS blocks, sum(length(message)) AS text
    FROM log_lines`
  const bytes = (all: bigint) => `${Math.round(Number(all) / lines)}`
  say('  bytes a line: text, table with indexes, blocks', [size!.text, size!.lines, size!.blocks].map(bytes).join('  '))

  const path = `/v2/deployments/${deployments[0]!.id}/logs?type=deploy&order=desc&`
  const search = (what: string, query: string) =>
    time(`search of ${LINES} lines: ${what}`, 20, () => call('GET', path + query))
  await search('a frequent text', 'query=checkpoint')
  await search('one line', 'query=NEEDLE-in-the-haystack')
  await search('one line with 20 around it', 'query=NEEDLE-in-the-haystack&context=10')
  await search('two words of one line', 'query=found%20in%20the%20haystack')
  await search('no line', 'query=no-such-text')
  await search('a text that only other deployments have', 'query=otherwise')
  await search('part of an id', 'query=0123456789')
  await search('a rare text at level error', 'query=needle&level=error')
  await search('a number in a field', 'field=run.status%3D503')
  await search('a text in a field', 'field=event%3Dcheckpoint+of+nothing')

  await download(`${app.publicUrl()}/v2/deployments/${deployments[0]!.id}/logs/download?type=deploy`, key)

  const [, other] = deployments
  const append = () =>
    writeLog(
      app.core,
      Array.from({ length: 100 }, () => lineOf(other!.latest_revision_id)),
    )
  await time('100 lines appended to another log', 200, append)
  let searching = true
  const searchers = Array.from({ length: SEARCHERS }, async () => {
    while (searching) await call('GET', `${path}query=no-such-text`)
  })
  await time(`  while ${SEARCHERS} clients search`, 200, append)
  searching = false
  await Promise.all(searchers)
}

async function download(url: string, key: string): Promise<void> {
  const before = process.memoryUsage.rss()
  let [bytes, peak] = [0, before]
  const ms = await took(async () => {
    const { body } = await fetch(url, { headers: { 'x-api-key': key } })
    for await (const chunk of body!) {
      bytes += chunk.length
      peak = Math.max(peak, process.memoryUsage.rss())
    }
  })
  const mib = (count: number) => `${Math.round(count / 2 ** 20)} MiB`
  say(
    `download of ${LINES} lines: s, size, growth of memory`,
    `${(ms / 1000).toFixed(1)}  ${mib(bytes)}  ${mib(peak - before)}`,
  )
}

const SEARCHERS = 8

const lineOf = (revisionId: string) => ({
  ...{ revisionId, attempt: 1, type: 'deploy' as const, time: new Date() },
  message: `[worker] a request of a thread, ${randomUUID()}`,
})

async function took(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/** One line in six is of the first deployment. Lines are of three kinds, with ids, numbers and words. */
async function insert(
  { core }: App,
  [searched, ...others]: { id: string; latest_revision_id: string }[],
): Promise<void> {
  for (let from = 0; from < LINES * 6; from += LINES_PER_STATEMENT)
    await core.db.$executeRaw`
      INSERT INTO log_lines (deployment_id, revision_id, type, attempt, level, message)
      SELECT CASE WHEN mine THEN ${searched!.id}::uuid ELSE (${others.map(({ id }) => id)}::uuid[])[other] END,
        CASE WHEN mine THEN ${searched!.latest_revision_id}::uuid ELSE (${others.map((one) => one.latest_revision_id)}::uuid[])[other] END,
        'deploy', 1, (CASE WHEN n % 50 = 0 THEN 'error' ELSE 'info' END)::"LogLevel",
        CASE WHEN mine AND n = ${LINES * 3} THEN 'the needle-in-the-haystack was found in the haystack'
          WHEN n % 3 = 0 THEN '{"event":"checkpoint of the graph","run":{"id":"' || gen_random_uuid() || '","status":'
            || CASE WHEN n % 50000 = 0 THEN 503 ELSE 200 END || '},"latency_ms":' || n % 5003 || '}'
          WHEN n % 3 = 1 THEN 'INFO:     127.0.0.1:' || n % 60000 || ' - "POST /threads/' || gen_random_uuid() || '/runs HTTP/1.1" 200 OK'
          ELSE '[worker] request of a thread: tokens=' || n % 7919 || ' trace=' || md5(n::text) || ' retry=0' END
          || CASE WHEN mine THEN '' ELSE ' otherwise' END
      FROM (
        SELECT n, (n / ${LINES_IN_A_ROW}) % 6 = 0 AS mine, (n / ${LINES_IN_A_ROW} / 6) % ${DEPLOYMENTS} + 1 AS other
        FROM generate_series(${from}::int, ${from + LINES_PER_STATEMENT - 1}::int) AS n
      ) AS numbered`
  await core.db.$executeRaw`ANALYZE log_lines`
}
