/** An invalid cursor is rejected with any content, before it reaches the database. */
import { beforeAll, expect, test } from 'vitest'
import { encodeCursor } from '../../src/domain/paging/paging.ts'
import { useApp } from '../support/app.ts'
import { imageDeployment } from '../support/factories.ts'

const app = useApp()
beforeAll(async () => {
  await imageDeployment(app)
})

const ID = '11111111-1111-4111-8111-111111111111'
const NOW = '2026-01-31T12:00:00.000Z'

const deployments = (order = '') =>
  `query ($after: String) { deployments(first: 1, after: $after${order}) { totalCount nodes { id } } }`
const BY_NAME = ', orderBy: { field: NAME, direction: ASC }'
const inDeployments = (list: string) =>
  `query ($after: String) { deployments { nodes { ${list}(first: 1, after: $after) { nodes { __typename } } } } }`

test.each([
  ['a cursor of deployments with an invalid time is rejected', deployments(), ['CREATED_AT', 'garbage', ID]],
  [
    'a cursor of deployments with a time before the minimum is rejected',
    deployments(),
    ['CREATED_AT', '-271820-01-01T00:00:00.000Z', ID],
  ],
  ['a cursor of deployments with an invalid id is rejected', deployments(), ['CREATED_AT', NOW, 'x']],
  ['a cursor of deployments with a number as id is rejected', deployments(), ['CREATED_AT', NOW, 5]],
  ['a cursor of deployments in another order is rejected', deployments(), ['NAME', 'a', ID]],
  ['a cursor of deployments by name with a NUL is rejected', deployments(BY_NAME), ['NAME', 'a\0', ID]],
  ['a cursor of deployments by name with a number is rejected', deployments(BY_NAME), ['NAME', 5, ID]],
  ['a cursor of revisions with a text is rejected', inDeployments('revisions'), ['x']],
  ['a cursor of revisions with a number out of range is rejected', inDeployments('revisions'), [1e15]],
  ['a cursor of events with a number out of range is rejected', inDeployments('events'), [ID, '9999999999999999999']],
  [
    'a cursor of tags with an invalid time is rejected',
    'query ($after: String) { tags(after: $after) { nodes { id } } }',
    ['x', ID],
  ],
  [
    'a cursor of API keys with a number as time is rejected',
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
