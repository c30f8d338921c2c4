/**
 * docs/api-rules.md#conditional-requests: tags, If-None-Match, the forms of If-Match, and refused conditions.
 * test/contract has the rules of versions.
 */
import { createHash, randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseTags } from '../../src/api/rest/framework/conditional-requests.ts'
import { operations } from '../../src/api/rest/operations.ts'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import type { ControlPlane } from '../../src/domain/protocol/protocol.ts'
import { countStatements } from '../support/database.ts'
import { claimOne, workOff } from '../support/holder.ts'
import { storedProvider } from '../support/oauth-tokens.ts'
import { bodies, type CallOptions, set, useAnyCall, useRestApp, violations } from './support.ts'

const app = useRestApp()
const callAny = useAnyCall(app)
let plane: ControlPlane
beforeAll(async () => {
  plane = localControlPlane(app.core)
})

const at = (id: string) => `/v2/deployments/${id}`
const SPEC = (cpu: number) => ({ source_config: { resource_spec: { cpu } } })
const tagOf = ({ headers }: { headers: Headers }) => headers.get('etag')!
const editOf = (answer: { headers: Headers }) => Number(/^"(\d+)-[0-9a-f]{32}"$/.exec(tagOf(answer))![1])
const given = (headers: Record<string, string>, rest: CallOptions = {}): CallOptions => ({ ...rest, headers })
const git = () => bodies.gitprovider(app.tenant.integrationId)
const secret = () => set(bodies.internal_container(), 'secrets', [{ name: 'TOKEN', value: randomUUID() }])
const listenerBody = () => ({
  compute_type: 'k8s',
  compute_id: randomUUID(),
  compute_config: { k8s_namespaces: ['agents'] },
})

describe('The tag of an answer', () => {
  test('is of exactly the sent bytes, and no shared cache may store them', async () => {
    const { id } = await app.create()
    const one = await app.call('GET', at(id))
    const hash = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 32)
    expect(tagOf(one)).toBe(`"1-${hash(one.text)}"`)
    const list = await app.call('GET', '/v2/deployments')
    expect(tagOf(list)).toBe(`"${hash(list.text)}"`)
    for (const { headers } of [one, list]) {
      expect(headers.get('vary')).toBe('X-Api-Key, Authorization, X-Tenant-Id, X-Session, Cookie, Origin')
      expect(headers.get('cache-control')).toBe('private, no-cache')
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    }
  })

  test('is on every answer of a GET, and a refusal is as private', async () => {
    const { id, latest_revision_id } = await app.create()
    const provider = await storedProvider(app)
    const paths = [
      `${at(id)}/revisions`,
      `${at(id)}/revisions/${latest_revision_id}`,
      '/v2/listeners',
      '/v2/auth/providers',
      `/v2/auth/providers/${provider.providerId}`,
      '/v2/auth/tokens',
      '/v2/auth/agents/somebody/connections',
      '/v1/integrations/gitprovider/install',
    ]
    for (const path of paths) expect(tagOf(await app.call('GET', path)), path).toBeTruthy()
    expect(tagOf(await app.call('GET', `${at(id)}/logs`, { query: { type: 'build' } }))).toBeTruthy()
    const refused = await app.call('GET', at(randomUUID()))
    expect(refused.status).toBe(404)
    expect(refused.headers.get('etag')).toBeNull()
    expect(refused.headers.get('cache-control')).toBe('private, no-cache')
    expect(refused.headers.get('vary')).toContain('X-Api-Key')
  })

  test('differs for a caller who may not read secrets', async () => {
    const { id } = await app.create(secret())
    const [admin, viewer] = [await app.call('GET', at(id)), await app.call('GET', at(id), { key: app.keys.viewer })]
    expect(tagOf(admin)).not.toBe(tagOf(viewer))
    expect(editOf(admin)).toBe(editOf(viewer))
    const notOwn = await app.call('GET', at(id), given({ 'if-none-match': tagOf(admin) }, { key: app.keys.viewer }))
    expect(notOwn.status).toBe(200)
  })

  test('of a write equals the tag of the following GET, so edits can be chained', async () => {
    const made = await app.call('POST', '/v2/deployments', { body: bodies.internal_container() })
    const path = at(made.body.id)
    expect(tagOf(await app.call('GET', path))).toBe(tagOf(made))
    const once = await app.call('PATCH', path, given({ 'if-match': tagOf(made) }, { body: SPEC(2) }))
    expect(once.status, once.text).toBe(200)
    expect(tagOf(await app.call('GET', path))).toBe(tagOf(once))
    const twice = await app.call('PATCH', path, given({ 'if-match': tagOf(once) }, { body: SPEC(3) }))
    expect(editOf(twice)).toBeGreaterThan(editOf(once))
    const revised = await app.call('POST', `${path}/revisions`, { body: {} })
    expect(tagOf(await app.call('GET', `${path}/revisions/${revised.body.id}`))).toBe(tagOf(revised))
    const listener = await app.call('POST', '/v2/listeners', { body: listenerBody() })
    expect(tagOf(await app.call('GET', `/v2/listeners/${listener.body.id}`))).toBe(tagOf(listener))
  })
})

describe('If-None-Match', () => {
  test.each([
    ['the tag', (tag: string) => tag],
    ['the tag made weak by a proxy', (tag: string) => `W/${tag}`],
    ['a list that has it', (tag: string) => `"a,b", , W/"c" ,${tag}`],
    ['any', () => '*'],
  ])('%s: 304 with the headers of a 200 and no body', async (_, header) => {
    const { id } = await app.create()
    const whole = await app.call('GET', at(id))
    const again = await app.call('GET', at(id), given({ 'if-none-match': header(tagOf(whole)) }))
    expect([again.status, again.text]).toEqual([304, ''])
    for (const name of ['etag', 'vary', 'cache-control'])
      expect(again.headers.get(name), name).toBe(whole.headers.get(name))
    expect(again.headers.get('content-type')).toBeNull()
    expect(again.headers.get('x-request-id')).toBeTruthy()
  })

  test.each([
    ['the edit alone', '"1"'],
    ['another tag', '"1-AAAAAAAAAAAAAAAAAAAAAA", ""'],
  ])('%s: 200', async (_, header) => {
    const { id } = await app.create()
    const answer = await app.call('GET', at(id), given({ 'if-none-match': header }))
    expect(answer.status).toBe(200)
  })

  test('of a list changes when one of its items changes, and costs the database no more', async () => {
    const { id } = await app.create()
    const query = { deployment_ids: id }
    const list = () => app.call('GET', '/v2/deployments', { query })
    const tag = tagOf(await list())
    const known = () => app.call('GET', '/v2/deployments', given({ 'if-none-match': tag }, { query }))
    const plain = await countStatements(app.app.database, list)
    const conditional = await countStatements(app.app.database, async () => expect((await known()).status).toBe(304))
    expect(conditional.length).toBeLessThanOrEqual(plain.length)
    await app.call('PATCH', at(id), { body: SPEC(2) })
    expect((await known()).status).toBe(200)
  })

  test('of a revision changes when work moves it', async () => {
    const { id, latest_revision_id } = await app.create(git())
    const path = `${at(id)}/revisions/${latest_revision_id}`
    const tag = tagOf(await app.call('GET', path))
    expect(tag).toMatch(/^"[0-9a-f]{32}"$/)
    await workOff(plane, await claimOne(plane, id))
    const moved = await app.call('GET', path, given({ 'if-none-match': tag }))
    expect([moved.status, moved.body.status]).toEqual([200, 'DEPLOYED'])
  })

  test('also works with HEAD', async () => {
    const { id } = await app.create()
    const tag = tagOf(await app.call('GET', at(id)))
    const head = await app.rest('HEAD', at(id), given({ 'if-none-match': tag }))
    expect([head.status, tagOf(head)]).toEqual([304, tag])
  })
})

describe('If-Match', () => {
  test.each([
    ['the edit alone', '"1"', 200],
    ['the edit with any hash', '"1-abc"', 200],
    ['a list that has it', '"7-x", "1"', 200],
    ['anything', '*', 200],
    ['a weak tag', 'W/"1"', 412],
    ['no edit at all', '"abc"', 412],
    ['an edit that begins alike', '"10"', 412],
    ['the empty tag', '""', 412],
  ])('%s: %s is %i', async (_, header, status) => {
    const { id } = await app.create()
    const answer = await app.call('PATCH', at(id), given({ 'if-match': header }, { body: SPEC(2) }))
    expect(answer.status, answer.text).toBe(status)
  })

  test('counts edits by servers of the previous version, which only change updated_at', async () => {
    const { id } = await app.create()
    const before = await app.call('GET', at(id))
    await app.core.db
      .$executeRaw`UPDATE deployments SET build_on_push = true, updated_at = now() + interval '1 s' WHERE id = ${id}::uuid`
    await app.core.db.$executeRaw`UPDATE deployments SET idle = true WHERE id = ${id}::uuid`
    expect(editOf(await app.call('GET', at(id)))).toBe(editOf(before) + 1)
  })
})

describe('An unsupported condition is refused', () => {
  test.each(operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
    'by %s',
    async (_, operation) => {
      const { method, ifMatch } = operation
      const isTagged = method === 'GET' && operation.headers?.['cache-control'] !== 'no-store'
      const headers = { 'if-match': '"1"', 'if-none-match': '"1"', 'if-unmodified-since': new Date().toUTCString() }
      const answer = await callAny(operation, { headers })
      const refused = violations(answer).filter((one) => one.startsWith('header'))
      const expected = ifMatch
        ? ['header.If-None-Match extra_forbidden']
        : [
            'header.If-Match extra_forbidden',
            ...(isTagged ? [] : ['header.If-None-Match extra_forbidden']),
            'header.If-Unmodified-Since extra_forbidden',
          ]
      expect(refused).toEqual(expected)
    },
  )
  test.each(['abc', '1', '"a" "b"', '"a', '*, "a"', 'w/"a"', ',', ''])(
    'malformed tags: %s is a 422 where it is read, together with all else',
    async (header) => {
      const { id } = await app.create()
      const read = await app.call('GET', '/v2/deployments', given({ 'if-none-match': header }, { query: { limit: 0 } }))
      expect(violations(read)).toEqual([
        'header.If-None-Match string_pattern_mismatch',
        'query.limit greater_than_equal',
      ])
      const write = await app.call('PATCH', at(id), given({ 'if-match': header }, { body: { secrets: 1 } }))
      expect(violations(write)).toEqual(['body.secrets list_type', 'header.If-Match string_pattern_mismatch'])
    },
  )

  test('only after the role check', async () => {
    const { id } = await app.create()
    const headers = { 'if-none-match': 'x', 'if-unmodified-since': 'x' }
    expect((await app.call('PATCH', at(id), { headers, key: app.keys.viewer, body: {} })).status).toBe(403)
  })

  test('except If-Modified-Since and If-Range, which may be ignored, and If-Unmodified-Since next to If-Match, which must be', async () => {
    const { id } = await app.create()
    const later = new Date(Date.now() + 1e6).toUTCString()
    const read = await app.call('GET', at(id), given({ 'if-modified-since': later, 'if-range': '"1"' }))
    expect(read.status).toBe(200)
    const headers = { 'if-match': '"1"', 'if-unmodified-since': new Date(0).toUTCString() }
    expect((await app.call('PATCH', at(id), { headers, body: SPEC(2) })).status).toBe(200)
  })
})

test('Parsing a header of tags takes time proportional to its length', () => {
  const since = performance.now()
  // far longer than a header may be: quadratic time would take a minute
  expect(parseTags(`"a",${' '.repeat(200_000)}x`)).toBeNull()
  expect(performance.now() - since).toBeLessThan(5000)
})
