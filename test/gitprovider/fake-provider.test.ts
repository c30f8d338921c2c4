/** Compares the git provider's stand-in with recordings of the real one, so that other tests are meaningful. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createGitProvider as openClient } from '../../src/adapters/git-provider/create-git-provider.ts'
import type { GitProvider } from '../../src/domain/ports/git-provider.ts'
import { readConfig } from '../../src/platform/config/config.ts'
import { type FakeGitProvider, openGitProvider } from '../support/gitprovider/open.ts'
import * as shapes from '../support/gitprovider/shapes.ts'
import { recorded, signatureOf } from '../support/gitprovider/webhooks.ts'
import { newWorld } from '../support/gitprovider/world.ts'

let standIn: FakeGitProvider
let client: GitProvider

beforeAll(async () => {
  standIn = await openGitProvider()
  const silent = { info: () => {}, warn: () => {}, error: () => {} }
  client = (await openClient(readConfig(standIn.settings), silent))!
})
afterAll(() => standIn.close())

interface Recording {
  method: string
  status: number
  response: Record<string, unknown>
  headers: Record<string, string>
}

function recording(scenario: string): Recording[] {
  const file = `../../node_modules/@octokit/fixtures/scenarios/api.github.com/${scenario}/normalized-fixture.json`
  return JSON.parse(readFileSync(fileURLToPath(new URL(file, import.meta.url)), 'utf8'))
}

/** Types of all members by name. Null matches any type. */
function expectShape(ours: object, real: object): void {
  for (const [name, value] of Object.entries(ours)) {
    expect(real, name).toHaveProperty([name])
    const theirs = (real as Record<string, unknown>)[name]
    if (value === null || theirs === null) continue
    expect(typeof value, name).toBe(typeof theirs)
    if (typeof value === 'object' && !Array.isArray(value)) expectShape(value, theirs as object)
  }
}

const world = { ...newWorld(), apiUrl: 'http://localhost/api/v3', webUrl: 'http://localhost' }

test('a repository has the shape of a recorded one', async () => {
  const real = recording('get-repository').find(({ status }) => status === 200)!.response
  expectShape(shapes.repository(world, await standIn.repository('acme/shape', { disk: false })), real)
})

test('a commit status has the shape of a recorded one', async () => {
  const real = recording('create-status').find(({ method, status }) => method === 'post' && status === 201)!.response
  const repo = await standIn.repository('acme/status', { disk: false })
  const given = { id: 1, state: 'success', context: 'c', description: 'd', targetUrl: 'https://a.test', at: new Date() }
  expectShape(shapes.status(world, repo, 'f'.repeat(40), given), real)
})

test('page links equal those of a recording', () => {
  const links = recording('paginate-issues').map(({ headers }) => headers.link ?? '')
  const form = /^(<[^<>]*[?&]per_page=\d+[^<>]*>; rel="(prev|next|last|first)"(, |$))+$/
  expect(links.some((link) => link.includes('rel="next"'))).toBe(true)
  for (const link of links.filter(Boolean)) expect(link).toMatch(form)
})

test('the signature of every recorded push is valid, and a changed byte is detected', async () => {
  for (const payload of recorded('push')) {
    const body = JSON.stringify(payload)
    const signature = signatureOf(standIn.webhookSecret, body)
    expect(await client.verifyWebhook(Buffer.from(body), signature)).toBe(true)
    expect(await client.verifyWebhook(Buffer.from(`${body} `), signature)).toBe(false)
    expect(await client.verifyWebhook(Buffer.from(body), signatureOf('another secret', body))).toBe(false)
  }
  const body = Buffer.from('{}')
  for (const signature of [undefined, '', 'sha256=', 'sha1=0', 'é'.repeat(71)])
    expect(await client.verifyWebhook(body, signature)).toBe(false)
  expect(await client.verifyWebhook(Buffer.alloc(0), 'sha256=0')).toBe(false)
})

test('payloads have all members of the recorded ones', async () => {
  const repo = await standIn.repository('acme/hooks', { disk: false })
  const installed = standIn.install('acme', { repositories: [repo] })
  const push = standIn.payload.push(repo, installed, { branch: 'main', after: 'f'.repeat(40) })
  const real = recorded('push').find((payload) => payload.installation)!
  expect(Object.keys(push)).toEqual(expect.arrayContaining(Object.keys(real)))
  expect(push).toMatchObject({ ref: 'refs/heads/main', repository: { full_name: 'acme/hooks' }, deleted: false })
  const created = standIn.payload.installation(installed, 'created')
  expect(created).toMatchObject({ action: 'created', installation: { id: installed.id, account: { login: 'acme' } } })
  const added = standIn.payload.repositories(installed, { added: [repo] })
  expect(added).toMatchObject({ action: 'added', repositories_added: [{ full_name: 'acme/hooks' }] })
})
