/** An invalid cursor is rejected with any content, before it reaches the database. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeCursor } from '../../src/domain/paging/paging.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { imageDeployment } from '../support/factories.ts'

let app: TestApp
beforeAll(async () => {
  app = await testApp()
  await imageDeployment(app)
})
afterAll(() => app.close())

const ID = '11111111-1111-4111-8111-111111111111'
const NOW = '2026-01-31T12:00:00.000Z'

const deployments = (order = '') =>
  `query ($after: String) { deployments(first: 1, after: $after${order}) { totalCount nodes { id } } }`
const BY_NAME = ', orderBy: { field: NAME, direction: ASC }'
const inDeployments = (list: string) =>
  `query ($after: String) { deployments { nodes { ${list}(first: 1, after: $after) { nodes { __typename } } } } }`

test.each([
  ['deployments, a time that is none', deployments(), ['CREATED_AT', 'garbage', ID]],
  ['deployments, a time before all times', deployments(), ['CREATED_AT', '-271820-01-01T00:00:00.000Z', ID]],
  ['deployments, an id that is none', deployments(), ['CREATED_AT', NOW, 'x']],
  ['deployments, a number for an id', deployments(), ['CREATED_AT', NOW, 5]],
  ['deployments, another order', deployments(), ['NAME', 'a', ID]],
  ['deployments by name, a NUL', deployments(BY_NAME), ['NAME', 'a\0', ID]],
  ['deployments by name, a number', deployments(BY_NAME), ['NAME', 5, ID]],
  ['revisions, a text', inDeployments('revisions'), ['x']],
  ['revisions, a number that no column takes', inDeployments('revisions'), [1e15]],
  ['events, a number that no column takes', inDeployments('events'), [ID, '9999999999999999999']],
  ['tags, a time that is none', 'query ($after: String) { tags(after: $after) { nodes { id } } }', ['x', ID]],
  [
    'API keys, a number for a time',
    'query ($after: String) { apiKeys(after: $after) { nodes { id } } }',
    [8.64e15, ID],
  ],
])('%s', async (_what, query, values) => {
  const { errors } = await app.gql(query, { after: encodeCursor(values) })
  expect(errors?.map(({ extensions }) => extensions.issues ?? extensions)).toEqual([
    [expect.objectContaining({ code: 'cursor_invalid' })],
  ])
})

test('an expiry beyond the largest timestamp is rejected', async () => {
  const { data, errors } = await app.gql(
    'mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { __typename ... on ValidationError { issues { path code } } } }',
    { input: { name: 'forever', role: 'viewer', expiresAt: '9999-12-31T23:59:59-12:00' } },
  )
  expect(errors).toBeUndefined()
  expect(data.createApiKey).toEqual({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'expiresAt'], code: 'datetime_parsing' }],
  })
})
