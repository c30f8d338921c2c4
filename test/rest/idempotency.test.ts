/** The form of an Idempotency-Key, its violations, and bulk calls over REST. test/contract has the rules of retries. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Answer } from '../support/app.ts'
import { bodies, type CallOptions, useRestApp } from './support.ts'

const app = useRestApp()

const under = (key: string) => ({ headers: { 'idempotency-key': key } })
const replayed = ({ headers }: Answer) => headers.get('idempotency-replayed')
const violation = (answer: Answer) => [answer.status, ...(answer.body.detail as { loc: string[]; type: string }[])]
const REUSED = [422, { loc: ['header', 'Idempotency-Key'], msg: expect.any(String), type: 'idempotency_key_reused' }]
const update = (id: string, key: string, body: object, how: CallOptions = {}) =>
  app.call('PATCH', `/v2/deployments/${id}`, { ...how, body, ...under(key) })
const ref = (name: string) => ({ source_revision_config: { repo_ref: name } })
const git = () => app.create(bodies.gitprovider(app.tenant.integrationId))

test('a reused key is reported together with all other violations', async () => {
  const { id } = await git()
  const key = randomUUID()
  await update(id, key, ref('a'))
  expect((await update(id, key, { secrets: 1 })).body.detail).toMatchObject([
    REUSED[1],
    { loc: ['body', 'secrets'], type: 'list_type' },
  ])
})

test('a key is 1 to 255 printable characters, bare or in quotes', async () => {
  const { id } = await git()
  const read = async (key: string) => {
    const answer = await update(id, key, ref('a'))
    return answer.status === 200 ? replayed(answer) : answer.body.detail[0].type
  }
  expect(await read('abc')).toBeNull()
  expect(await read('"abc"')).toBe('true')
  expect(await read('"a \\"b\\" c"')).toBeNull()
  expect(await read('x'.repeat(255))).toBeNull()
  expect(await read('x'.repeat(256))).toBe('string_too_long')
  for (const empty of ['', '""']) expect(await read(empty)).toBe('missing')
  for (const wrong of ['a b', '"open', 'ü', '"a" "b"']) expect(await read(wrong)).toBe('string_pattern_mismatch')
  // only for callers who may write
  expect((await update(id, '', ref('a'), { key: app.keys.viewer })).status).toBe(403)
})

test('a bulk call does each item once: an interrupted one continues where it stopped', async () => {
  const ids = [(await app.create()).id, (await app.create()).id, randomUUID()]
  const key = randomUUID()
  const remove = (deployment_ids: string[]) =>
    app.call('DELETE', '/v2/deployments', { query: { deployment_ids }, ...under(key) })
  const first = await remove(ids)
  expect(first.status).toBe(207)
  expect(first.body.results.map(({ status }: { status: number }) => status)).toEqual([204, 204, 404])
  const events = () => app.core.db.event.count({ where: { deploymentId: { in: ids }, type: 'deployment.deleted' } })
  expect(await events()).toBe(2)
  const again = await remove(ids)
  expect(again.body).toEqual(first.body)
  expect(await events()).toBe(2)
  expect(violation(await remove(ids.slice(0, 1)))).toEqual(REUSED)
  // the second item had not been done yet
  await app.core.db.idempotencyEntry.deleteMany({ where: { key, position: '/1' } })
  expect((await remove(ids)).body).toEqual(first.body)
})
