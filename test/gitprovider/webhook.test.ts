/**
 * POST /v1/integrations/gitprovider/webhook: authentication, accepted bodies and response time (docs/sources.md#git-providers).
 */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testApp } from '../support/app.ts'
import { recorded } from '../support/gitprovider/webhooks.ts'
import { type PushFixture, pushFixture } from './push-support.ts'

let world: PushFixture
beforeAll(async () => {
  world = await pushFixture()
})
afterAll(() => world.close())

const deliveries = () => world.core.db.webhookDelivery.count()
const push = () => world.provider.payload.push(world.repo, world.installed, { branch: 'main', after: 'a'.repeat(40) })

test.each([
  ['without a signature', null],
  ['with a signature of another secret', `sha256=${'0'.repeat(64)}`],
  ['with the signature of another body', 'other body'],
  ['with half a signature', 'sha256='],
])('a delivery %s answers 401 and is not stored', async (_what, given) => {
  const before = await deliveries()
  const { webhook, provider } = world
  const signature = given === 'other body' ? await signatureOf('{"zen":"another"}') : given
  const answer = await provider.deliver(webhook, 'push', push(), { signature })
  expect([answer.status, (await answer.json()).code]).toEqual([401, 'UNAUTHENTICATED'])
  expect(await deliveries()).toBe(before)
})

async function signatureOf(body: string): Promise<string> {
  const webhooks = await import('../support/gitprovider/webhooks.ts')
  return webhooks.signatureOf(world.provider.webhookSecret, body)
}

async function post(body: string, headers: Record<string, string>): Promise<Response> {
  return fetch(world.webhook, {
    method: 'POST',
    body,
    headers: {
      'content-type': 'application/json',
      'x-github-event': 'push',
      'x-github-delivery': randomUUID(),
      'x-hub-signature-256': await signatureOf(body),
      ...headers,
    },
  })
}

test.each([
  ['without its id', 'x-github-delivery', 'header.x-github-delivery'],
  ['without its event', 'x-github-event', 'header.x-github-event'],
])('a signed delivery %s answers 422', async (_what, left, loc) => {
  const answer = await post('{}', { 'x-github-event': 'ping', [left]: '' })
  expect(answer.status).toBe(422)
  expect((await answer.json()).detail.map((one: { loc: string[] }) => one.loc.join('.'))).toEqual([loc])
})

test('a signed delivery with invalid JSON or an invalid push answers 422, and a form answers 415', async () => {
  expect((await post('{"ref":', {})).status).toBe(422)
  const answer = await post('{"ref":"refs/heads/main","after":"../x"}', {})
  expect(answer.status).toBe(422)
  expect((await answer.json()).detail.map((one: { loc: string[] }) => one.loc.join('.'))).toEqual([
    'body.after',
    'body.repository',
  ])
  expect((await post('payload=%7B%7D', { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(415)
})

test('a repeated delivery is answered as a duplicate', async () => {
  const id = randomUUID()
  const first = await world.deliverPush('b'.repeat(40), { id })
  expect([first.status, await first.json()]).toEqual([202, { accepted: true }])
  const second = await world.deliverPush('c'.repeat(40), { id })
  expect([second.status, await second.json()]).toEqual([202, { accepted: true, duplicate: true }])
})

test.each(['ping', 'push', 'installation', 'installation_repositories', 'issues'])(
  'the provider’s own examples of «%s» are accepted',
  async (event) => {
    const examples = recorded(event)
    expect(examples.length).toBeGreaterThan(0)
    for (const payload of examples) {
      const answer = await world.provider.deliver(world.webhook, event, payload)
      expect([answer.status, await answer.json()]).toEqual([202, { accepted: true }])
    }
    await world.settled()
  },
)

test('a delivery that needs no handling is finished immediately', async () => {
  const { provider, webhook, repo, installed } = world
  const told = [
    ['push', provider.payload.push(repo, installed, { branch: 'refs/tags/v1', after: 'd'.repeat(40) })],
    ['push', provider.payload.push(repo, installed, { branch: 'main', after: null })],
    ['ping', recorded('ping')[0]],
    ['installation_repositories', provider.payload.repositories(installed, { added: [repo] })],
  ] as const
  for (const [event, payload] of told) {
    const id = randomUUID()
    expect((await provider.deliver(webhook, event, payload, { id })).status).toBe(202)
    const kept = await world.core.db.webhookDelivery.findUniqueOrThrow({ where: { id } })
    expect(kept).toMatchObject({ event, tries: 0, finishedAt: expect.any(Date), repository: null })
  }
})

test('a push of 2 MB is accepted, and one above the provider’s limit answers 413', async () => {
  const large = { ...push(), padding: 'x'.repeat(2_000_000) }
  expect((await world.provider.deliver(world.webhook, 'push', large)).status).toBe(202)
  const answer = await world.provider.deliver(world.webhook, 'push', { padding: 'x'.repeat(26 * 1024 * 1024) })
  expect([answer.status, (await answer.json()).detail]).toEqual([413, 'The body is larger than 25 MiB.'])
})

test('the webhook answers within a second while the provider is slow', async () => {
  await world.deploy()
  const head = await world.commit()
  world.provider.outage('slow')
  const began = performance.now()
  for (let n = 0; n < 20; n++) expect((await world.deliverPush(head)).status).toBe(202)
  expect((performance.now() - began) / 20).toBeLessThan(1000)
  world.provider.outage(null)
})

test('without a configured provider there is no webhook', async () => {
  const plain = await testApp()
  const url = `${plain.url}/v1/integrations/gitprovider/webhook`
  expect((await world.provider.deliver(url, 'ping', {})).status).toBe(404)
  await plain.close()
})
