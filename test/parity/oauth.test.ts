/** OAuth providers and connections through REST and GraphQL: the same rules, the same errors, the same answers. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OAuthProvider } from '../../src/generated/prisma/client.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { storedProvider, storedToken } from '../support/oauth-tokens.ts'
import { type Driver, graphqlDriver, type Outcome, restDriver } from './drivers.ts'

let app: TestApp
let rest: Driver
let graphql: Driver
/** An existing provider with a token of the admin. */
let acme: OAuthProvider
let tokenId: string
beforeAll(async () => {
  app = await testApp()
  rest = restDriver(app)
  graphql = graphqlDriver(app)
  acme = await storedProvider(app)
  tokenId = (await storedToken(app, { provider: acme, key: app.keys.admin, row: { label: 'Work' } })).id
})
afterAll(() => app.close())

/** Runs a scenario through both transports, expects the same failure and returns it. */
async function same(scenario: (driver: Driver) => Promise<Outcome>): Promise<Outcome> {
  const [one, other] = [await scenario(rest), await scenario(graphql)]
  expect(other).toEqual(one)
  expect(one.ok).toBe(false)
  return one
}

const provider = (more: object = {}) => ({
  provider_id: `acme-${randomUUID().slice(0, 8)}`,
  name: 'Acme',
  client_id: 'client',
  client_secret: 'a-secret',
  auth_url: 'https://acme.example/authorize',
  token_url: 'https://acme.example/token',
  ...more,
})

describe('OAuth providers', () => {
  test('created through one transport look the same in both, without the secret', async () => {
    for (const driver of [rest, graphql]) {
      const body = provider({
        uses_pkce: true,
        provider_type: 'slack',
        token_endpoint_auth_method: 'client_secret_basic',
      })
      const { value } = await driver.createProvider(body)
      const { client_secret, ...said } = body
      expect(value).toMatchObject({ ...said, code_challenge_method: 'S256', mcp_server_url: null })
      expect(JSON.stringify(value)).not.toContain(client_secret)
      for (const name of [value.id, body.provider_id]) {
        expect(await rest.getProvider(name)).toEqual({ ok: true, value })
        expect(await graphql.getProvider(name)).toEqual({ ok: true, value })
      }
      const changed = (await driver.updateProvider(body.provider_id, { name: 'Other' })).value
      expect(changed).toEqual({ ...value, name: 'Other', updated_at: changed.updated_at })
    }
    expect(await graphql.listProviders()).toEqual(await rest.listProviders())
  })

  test.each<[string, object, string[]]>([
    ['a name that is none', { name: '' }, ['name string_too_short']],
    ['an id that is a UUID', { provider_id: randomUUID() }, ['provider_id value_error']],
    ['addresses that are not https', { token_url: 'http://acme.example/token' }, ['token_url value_error']],
    [
      'several violations',
      { client_id: '', auth_url: '', provider_id: '.' },
      ['auth_url string_too_short', 'client_id string_too_short', 'provider_id string_pattern_mismatch'],
    ],
  ])('are refused equally for %s', async (_, wrong, issues) => {
    const body = provider(wrong)
    expect(await same((driver) => driver.createProvider(body))).toMatchObject({ code: 'VALIDATION_FAILED', issues })
  })

  test('are refused equally when they exist, don’t exist, are in use, or the role is too low', async () => {
    const { keys, other } = app
    const taken = provider({ provider_id: acme.providerId })
    expect(await same((driver) => driver.createProvider(taken))).toMatchObject({ code: 'ALREADY_EXISTS' })
    expect(await same((driver) => driver.createProvider(provider(), keys.deployer))).toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await same((driver) => driver.removeProvider(acme.providerId))).toMatchObject({ code: 'CONFLICT' })
    for (const name of ['nobody', randomUUID()]) {
      expect(await same((driver) => driver.getProvider(name))).toMatchObject({ code: 'NOT_FOUND' })
      expect(await same((driver) => driver.updateProvider(name, {}))).toMatchObject({ code: 'NOT_FOUND' })
      expect(await same((driver) => driver.removeProvider(name))).toMatchObject({ code: 'NOT_FOUND' })
    }
    expect(await same((driver) => driver.getProvider(acme.id, other.keys.admin))).toMatchObject({ code: 'NOT_FOUND' })
  })
})

describe('connections', () => {
  test('created through one transport look the same in both, also when they are created again', async () => {
    for (const [driver, another] of [
      [rest, graphql],
      [graphql, rest],
    ] as const) {
      const agent = `bot ${randomUUID()}`
      const { value } = await driver.connect(agent, { oauth_token_id: tokenId })
      expect(value).toMatchObject({
        oauth_token_id: tokenId,
        provider_id: acme.providerId,
        provider_account_label: 'Work',
      })
      expect(await another.connect(agent, { oauth_token_id: tokenId })).toEqual({ ok: true, value })
      for (const one of [rest, graphql]) expect(await one.listConnections(agent)).toEqual({ ok: true, value: [value] })
      expect((await another.disconnect(agent, value.id)).ok).toBe(true)
      expect(await driver.listConnections(agent)).toEqual({ ok: true, value: [] })
    }
  })

  test('are refused equally', async () => {
    const { keys } = app
    const id = randomUUID()
    const ended = await storedToken(app, { provider: acme, key: keys.admin, row: { endedAt: new Date() } })
    const connect = (agent: string, oauth_token_id: string, key?: string) =>
      same((driver) => driver.connect(agent, { oauth_token_id }, key))
    expect(await connect('bot', 'x')).toMatchObject({ issues: ['oauth_token_id uuid_parsing'] })
    expect(await connect('a\nb', id)).toMatchObject({ issues: ['agent_id string_pattern_mismatch'] })
    expect(await connect('bot', id)).toMatchObject({ code: 'NOT_FOUND', message: `OAuth token ID ${id} not found.` })
    expect(await connect('bot', ended.id)).toMatchObject({ code: 'TOKEN_EXPIRED' })
    expect(await connect('bot', tokenId, keys.viewer)).toMatchObject({ code: 'FORBIDDEN' })
    expect(await connect('bot', tokenId, keys.deployer)).toMatchObject({ code: 'NOT_FOUND' })
    expect(await same((driver) => driver.disconnect('bot', id))).toMatchObject({ code: 'NOT_FOUND' })
  })
})
