/** Secrets by name in GraphQL (docs/deployments.md#secrets): REST's calls as mutations and fields. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { mutate } from './mutate.ts'

let app: TestApp
beforeAll(async () => {
  app = await testApp()
})
afterAll(() => app.close())

const SECRETS = [
  { name: 'TOKEN', value: 'very-secret' },
  { name: 'OTHER', value: 'also-secret' },
]
const FIELDS = 'deployment { version secrets { name value setAt setBy { kind name } } } revision { id number }'
const create = async () => (await gitDeployment(app, { secrets: SECRETS })).id

test('setSecrets and unsetSecrets change only the named secrets, each in one revision', async () => {
  const deploymentId = await create()
  const set = { deploymentId, set: [{ name: 'NEW', value: 'n' }], unset: ['OTHER'] }
  const changed = await mutate(app, 'setSecrets', FIELDS, set, { key: app.keys.deployer })
  expect(changed).toMatchObject({ __typename: 'SetSecretsSuccess', revision: { number: 2 } })
  expect(changed.deployment.secrets).toMatchObject([
    { name: 'TOKEN', value: '••••••••', setBy: { kind: 'api_key' } },
    { name: 'NEW', value: '••••••••', setAt: expect.any(String) },
  ])
  const unset = await mutate(app, 'unsetSecrets', FIELDS, { deploymentId, unset: ['NEW'] })
  expect(unset).toMatchObject({
    revision: { number: 3 },
    deployment: { secrets: [{ name: 'TOKEN', value: 'very-secret' }] },
  })
})

test('errors of secrets are data with input paths', async () => {
  const deploymentId = await create()
  const both = { deploymentId, set: [{ name: 'TOKEN', value: 'x' }], unset: ['TOKEN', 'MISSING'] }
  expect(await mutate(app, 'setSecrets', FIELDS, both)).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'unset', '0'] }, { path: ['input', 'unset', '1'] }],
  })
  const input = { deploymentId, unset: ['TOKEN'] }
  expect(await mutate(app, 'unsetSecrets', FIELDS, { ...input, ifVersion: 99 })).toMatchObject({
    __typename: 'PreconditionFailedError',
  })
  const by = (key: string) => mutate(app, 'unsetSecrets', FIELDS, input, { key })
  expect(await by(app.keys.viewer)).toMatchObject({ __typename: 'ForbiddenError' })
  expect(await by(app.other.keys.admin)).toMatchObject({ __typename: 'NotFoundError' })
})

test('revealSecret returns the value to callers who may read it, and writes an event', async () => {
  const deploymentId = await create()
  const reveal = (key: string, name = 'TOKEN') =>
    mutate(app, 'revealSecret', 'name value', { deploymentId, name }, { key })
  expect(await reveal(app.keys.secretsReader)).toEqual({ __typename: 'RevealSecretSuccess', ...SECRETS[0] })
  const revealed = await app.gql(
    'mutation ($input: RevealSecretInput!) { revealSecret(input: $input) { __typename } }',
    { input: { deploymentId, name: 'TOKEN' } },
  )
  expect(revealed.headers.get('cache-control')).toBe('no-store')
  expect(await reveal(app.keys.deployer)).toMatchObject({ __typename: 'ForbiddenError' })
  expect(await reveal(app.keys.admin, 'MISSING')).toMatchObject({ __typename: 'NotFoundError' })
  expect(await reveal(app.sibling.keys.admin)).toMatchObject({ __typename: 'NotFoundError' })
  const { data, text } = await app.gql(
    `query ($id: ID!) { events(deploymentId: $id, types: ["secret.*"], first: 5) { nodes { type subjectId actor { name } } } }`,
    { id: deploymentId },
  )
  expect(data.events.nodes).toMatchObject([{ type: 'secret.revealed', subjectId: 'TOKEN' }, { subjectId: 'TOKEN' }])
  expect(text).not.toContain('very-secret')
})
