/** OAuth providers over GraphQL: the rules of REST, with errors as members of the results. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Call, type TestApp, testApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { mutate } from './mutate.ts'

let app: TestApp
beforeAll(async () => {
  app = await testApp()
})
afterAll(() => app.close())

const PROVIDER = `id organizationId providerId name clientId authUrl tokenUrl usesPkce codeChallengeMethod providerType
  mcpServerUrl tokenEndpointAuthMethod isDynamicClient createdBy createdAt updatedAt`

const change = (name: string, input: object, call?: Call) =>
  mutate(
    app,
    name,
    name === 'deleteOAuthProvider' ? 'oauthProviderId providerId' : `oauthProvider { ${PROVIDER} }`,
    input,
    call,
  )
const body = (more: object = {}) => ({
  providerId: `provider-${randomUUID()}`,
  name: 'Example',
  clientId: 'our-client',
  authUrl: 'https://accounts.example.com/authorize',
  tokenUrl: 'https://accounts.example.com/token',
  ...more,
})
const made = async (more?: object, call?: Call) => (await change('createOAuthProvider', body(more), call)).oauthProvider
const read = (id: string, call?: Call) =>
  app.gql(
    `query ($id: ID!) { oauthProvider(id: $id) { ${PROVIDER} } node(id: $id) { __typename id ... on OAuthProvider { name } } }`,
    { id },
    call,
  )

test('a provider is created, read, changed and deleted', async () => {
  const one = await made({ clientSecret: 's3cret', providerType: 'microsoft' })
  expect(one).toMatchObject({
    organizationId: app.tenant.organizationId,
    usesPkce: false,
    codeChallengeMethod: 'S256',
    providerType: 'microsoft',
    mcpServerUrl: null,
    tokenEndpointAuthMethod: 'client_secret_post',
    isDynamicClient: false,
    createdBy: (await app.context(app.keys.admin)).actor.subject,
  })
  const node = { __typename: 'OAuthProvider', id: one.id, name: 'Example' }
  expect((await read(one.id)).data).toEqual({ oauthProvider: one, node })
  // by the user's `providerId`, which `node` does not accept
  expect((await read(one.providerId)).data).toEqual({ oauthProvider: one, node: null })
  const rest = await app.rest('GET', `/v2/auth/providers/${one.providerId}`)
  expect(rest.body).toMatchObject({ id: one.id, client_id: one.clientId, updated_at: one.updatedAt })

  const changes = { name: 'Another', usesPkce: true, tokenEndpointAuthMethod: 'none' }
  const next = (await change('updateOAuthProvider', { providerId: one.providerId, ...changes })).oauthProvider
  expect(next).toEqual({ ...one, ...changes, updatedAt: expect.any(String) })
  expect(await change('deleteOAuthProvider', { providerId: one.id })).toEqual({
    __typename: 'DeleteOAuthProviderSuccess',
    oauthProviderId: one.id,
    providerId: one.providerId,
  })
  expect((await read(one.id)).data).toEqual({ oauthProvider: null, node: null })
})

describe('a rejected call', () => {
  test('names the invalid input member', async () => {
    const wrong = { providerId: 'mcp-discover', authUrl: 'accounts', clientSecret: 'x\n' }
    const shape = await change('createOAuthProvider', body(wrong))
    expect(shape.__typename).toBe('ValidationError')
    expect(shape.issues).toEqual([
      { path: ['input', 'providerId'], code: 'value_error' },
      { path: ['input', 'clientSecret'], code: 'string_pattern_mismatch' },
    ])
    const { id } = await made({ clientSecret: 'x' })
    const moved = await change('updateOAuthProvider', { providerId: id, tokenUrl: 'https://elsewhere.example.com/' })
    expect(moved.issues).toEqual([{ path: ['input', 'clientSecret'], code: 'missing' }])
    const unsafe = await change('updateOAuthProvider', { providerId: id, tokenUrl: 'https://10.0.0.1/' })
    expect(unsafe.issues).toEqual([{ path: ['input', 'tokenUrl'], code: 'value_error' }])
  })

  test('is a conflict if the name is taken or the provider has tokens', async () => {
    const one = await made()
    expect(await change('createOAuthProvider', body({ providerId: one.providerId }))).toMatchObject({
      __typename: 'ConflictError',
      code: 'ALREADY_EXISTS',
    })
    await app.app.core.db.oAuthToken.create({
      data: {
        workspaceId: app.tenant.workspaceId,
        oauthProviderId: one.id,
        subject: 'somebody',
        sealed: 'nothing',
        refreshable: false,
        tokenUrl: one.tokenUrl,
      },
    })
    expect(await change('deleteOAuthProvider', { providerId: one.id })).toMatchObject({
      __typename: 'ConflictError',
      message: expect.stringMatching(/^OAuth provider ID .* still has 1 token, /),
    })
  })

  test('is NOT_FOUND for an unknown name and for another organization’s', async () => {
    const one = await made({}, { key: app.other.keys.admin })
    for (const providerId of [randomUUID(), 'nothing', one.id, one.providerId]) {
      for (const name of ['updateOAuthProvider', 'deleteOAuthProvider'])
        expect(await change(name, { providerId })).toMatchObject({
          __typename: 'NotFoundError',
          message: `OAuth provider ID ${providerId} not found.`,
        })
      const { data, errors } = await read(providerId)
      expect(data).toEqual({ oauthProvider: null, node: null })
      expect(errors).toMatchObject([{ extensions: { code: 'NOT_FOUND' } }])
    }
  })

  test('is forbidden for all roles but admin', async () => {
    const { id } = await made()
    const call = { key: app.keys.deployer }
    expect(await change('createOAuthProvider', body(), call)).toMatchObject({ code: 'FORBIDDEN' })
    expect(await change('updateOAuthProvider', { providerId: id }, call)).toMatchObject({ code: 'FORBIDDEN' })
    expect(await change('deleteOAuthProvider', { providerId: id }, call)).toMatchObject({ code: 'FORBIDDEN' })
    expect((await read(id, { key: app.keys.viewer })).data.oauthProvider.id).toBe(id)
  })
})

test('the list has all providers of the organization in pages, newest first', async () => {
  const own = await testApp()
  const ids: string[] = []
  for (const { keys } of [own.tenant, own.sibling, own.tenant]) {
    const { authUrl, tokenUrl, clientId, providerId, name } = body()
    const sent = { auth_url: authUrl, token_url: tokenUrl, client_id: clientId, provider_id: providerId, name }
    const more = { client_secret: 's3cret' }
    const { body: one } = await own.rest('POST', '/v2/auth/providers', { key: keys.admin, body: { ...sent, ...more } })
    ids.unshift(one.id)
  }
  const call = { key: own.sibling.keys.viewer }
  const page = async (args: string) => {
    const query = `{ oauthProviders(${args}) { totalCount nodes { id name } edges { cursor } pageInfo { hasNextPage endCursor } } }`
    const { data, errors } = await own.gql(query, {}, call)
    expect(errors).toBeUndefined()
    return data.oauthProviders
  }
  const idsOf = ({ nodes }: { nodes: { id: string }[] }) => nodes.map(({ id }) => id)
  const first = await page('first: 2')
  expect(first).toMatchObject({ totalCount: 3, pageInfo: { hasNextPage: true } })
  expect(idsOf(first)).toEqual(ids.slice(0, 2))
  const second = await page(`first: 2, after: "${first.pageInfo.endCursor}"`)
  expect([idsOf(second), second.pageInfo.hasNextPage]).toEqual([ids.slice(2), false])
  expect(idsOf(await page('last: 1'))).toEqual(ids.slice(2))
  const elsewhere = await own.gql('{ oauthProviders { totalCount nodes { id } } }', {}, { key: own.other.keys.viewer })
  expect(elsewhere.data.oauthProviders).toEqual({ totalCount: 0, nodes: [] })

  // the statement reads the page and its count, or one provider, but never the secret, not even sealed
  const ofProviders = async (work: () => Promise<unknown>) =>
    (await countStatements(own.app.database, work)).filter((sql) => sql.includes('"oauth_providers"'))
  const list = await ofProviders(() => page('first: 3'))
  expect(list).toHaveLength(2)
  const whole = () => own.gql(`query ($id: ID!) { oauthProvider(id: $id) { ${PROVIDER} } }`, { id: ids[0] }, call)
  const one = await ofProviders(whole)
  expect(one).toHaveLength(1)
  expect([...list, ...one].filter((sql) => sql.includes('client_secret'))).toEqual([])
  await own.close()
})

test('no answer contains the client secret, not even errors about it', async () => {
  const canary = `canary-${randomUUID()}`
  const create =
    'mutation ($input: CreateOAuthProviderInput!) { createOAuthProvider(input: $input) { __typename ... on Error { message } ... on ValidationError { issues { path message } } } }'
  const send = (clientSecret: unknown, more?: object) => app.gql(create, { input: body({ clientSecret, ...more }) })
  const answers = [
    await send(canary),
    await send(`${canary}\n`),
    await send([{ canary }]),
    await send(canary, { tokenEndpointAuthMethod: 'none' }),
    await app.gql('{ oauthProviders { nodes { clientSecret } } }'),
  ]
  expect(answers.filter(({ text }) => text.includes(canary))).toEqual([])
  expect(answers[4]!.errors).toMatchObject([{ message: expect.stringContaining('Cannot query field "clientSecret"') }])
})
