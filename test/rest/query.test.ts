/** docs/api-rules.md#errors: an unknown query parameter is refused, never ignored, because it may be a filter. */
import { describe, expect, test } from 'vitest'
import { operations } from '../../src/api/rest/operations.ts'
import { bodies, NOWHERE, useAnyCall, useRestApp, violations } from './support.ts'

const app = useRestApp()
const callAny = useAnyCall(app)

describe('every call refuses an unknown query parameter:', () => {
  test.each(operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
    '%s',
    async (_, operation) => {
      const answer = await callAny(operation, { query: '?agent_id=x&agent_id=y&limit[]=1&__proto__=z&=' })
      const refused = violations(answer).filter((violation) => violation.endsWith('extra_forbidden'))
      expect(refused).toEqual(
        expect.arrayContaining([
          'query. extra_forbidden',
          'query.__proto__ extra_forbidden',
          'query.limit[] extra_forbidden',
        ]),
      )
      expect(refused.filter((violation) => violation.startsWith('query.agent_id'))).toHaveLength(1)
    },
  )
})

describe('The refusal', () => {
  test('lists the allowed parameters, together with all other violations', async () => {
    const answer = await app.call('GET', '/v2/deployments', { query: { agent_id: 'x', limit: 0, status: 'BROKEN' } })
    expect(violations(answer)).toEqual([
      'query.agent_id extra_forbidden',
      'query.limit greater_than_equal',
      'query.status enum',
    ])
    const { msg } = answer.body.detail.find((violation: { type: string }) => violation.type === 'extra_forbidden')
    expect(msg).toContain('name_contains, name, status')
  })

  test('comes together with that of a body that is not JSON', async () => {
    const answer = await app.call('POST', '/v2/deployments', { query: { dry_run: true }, body: '{' })
    expect(violations(answer)).toEqual(['body json_invalid', 'query.dry_run extra_forbidden'])
  })

  test('comes after 401 and 403, and before 404', async () => {
    const path = `/v2/deployments/${NOWHERE}`
    const query = { wait: 10 }
    expect((await app.call('DELETE', path, { query, key: null })).status).toBe(401)
    expect((await app.call('DELETE', path, { query, key: app.keys.viewer })).status).toBe(403)
    expect(violations(await app.call('DELETE', path, { query }))).toEqual(['query.wait extra_forbidden'])
  })

  test('covers parameters of other calls: a caller notices that it does not wait or follow', async () => {
    const { id } = await app.create()
    const path = `/v2/deployments/${id}`
    for (const lists of ['/v2/deployments', `${path}/revisions`, `${path}/events`])
      expect(violations(await app.call('GET', lists, { query: { wait: 1 } }))).toEqual(['query.wait extra_forbidden'])
    const followed = await app.call('GET', `${path}/events`, { query: { follow: true } })
    expect(violations(followed)).toEqual(['query.follow extra_forbidden'])
  })

  test('changes nothing: the PATCH or DELETE is not executed', async () => {
    const { id } = await app.create()
    const path = `/v2/deployments/${id}`
    const patched = await app.call('PATCH', path, { query: { a: 1 }, body: { secrets: [{ name: 'A', value: 'b' }] } })
    expect(violations(patched)).toEqual(['query.a extra_forbidden'])
    expect(violations(await app.call('DELETE', path, { query: { a: 1 } }))).toEqual(['query.a extra_forbidden'])
    expect((await app.call('GET', path)).body).toMatchObject({ status: 'AWAITING_DATABASE', secrets: [] })
  })
})

test('unknown members of a body are ignored', async () => {
  const body = { ...bodies.internal_container(), of_tomorrow: true }
  expect((await app.call('POST', '/v2/deployments', { body })).status).toBe(201)
})

describe('An address that a third party writes', () => {
  test('/v2/auth/callback accepts additional parameters of the provider', async () => {
    const { status, text } = await app.rest('GET', '/v2/auth/callback/acme?state=x&code=y&session_state=z&iss=i', {
      key: null,
    })
    expect([status, text]).not.toContain(422)
    expect(text).not.toContain('not complete')
  })

  test('/v1/integrations/gitprovider/setup does, too', async () => {
    const query = 'state=x&installation_id=1&setup_action=install'
    const { status } = await app.rest('GET', `/v1/integrations/gitprovider/setup?${query}`, { key: null })
    expect(status).not.toBe(422)
  })

  test('GET /graphql does, too', async () => {
    const { body } = await app.rest('GET', '/graphql?query={__typename}&op=Name')
    expect(body.data).toEqual({ __typename: 'Query' })
  })
})

test('a single-valued parameter that is given twice is named as such', async () => {
  const twice = 'limit=1&limit=2&serving=true&serving=false&source=gitprovider&source=gitprovider&name=a&name=b'
  const { body } = await app.rest('GET', `/v2/deployments?${twice}&deployment_ids=${NOWHERE}&deployment_ids=${NOWHERE}`)
  const msg = 'Must be given only once.'
  expect(body.detail).toHaveLength(4)
  for (const name of ['limit', 'serving', 'source', 'name'])
    expect(body.detail).toContainEqual({ loc: ['query', name], msg, type: 'value_error' })
})
