/**
 * A listener's key can do nothing but its listener's work: every operation of REST and every field of GraphQL is tried
 * with one, on its own workspace. What is added later is covered by itself.
 */
import { OperationTypeNode } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../src/graphql/schema.ts'
import { operations } from '../../src/rest/operations.ts'
import { operations as fields, type Victims } from '../graphql/walk.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { gitDeployment, listener, listenerKey } from '../support/factories.ts'

let app: TestApp
let key: string
/** one of each, all of the workspace of the key, and its own listener */
let ids: Record<string, string>
const TYPES = ['Deployment', 'Revision', 'Listener', 'TracingProject', 'Tag', 'GitIntegration', 'ApiKey'] as const
beforeAll(async () => {
  app = await testApp()
  const { db } = app.app.core
  const { workspaceId, integrationId } = app.tenant
  const { id } = await gitDeployment(app)
  const { latestRevisionId, tracingProjectId } = await db.deployment.findUniqueOrThrow({ where: { id } })
  const own = await listener(app)
  key = await listenerKey(app, own)
  ids = {
    Deployment: id,
    Revision: latestRevisionId!,
    Listener: own.id,
    TracingProject: tracingProjectId!,
    Tag: (await db.tag.create({ data: { workspaceId, key: 'k', value: 'v' } })).id,
    GitIntegration: integrationId,
    ApiKey: (await db.apiKey.findFirstOrThrow({ where: { workspaceId } })).id,
    Workspace: workspaceId,
    Organization: app.tenant.organizationId,
  }
})
afterAll(() => app.close())

const victims = (): Victims => ({
  byName: {
    deploymentId: ids.Deployment!,
    revisionId: ids.Revision!,
    listenerId: ids.Listener!,
    integrationId: ids.GitIntegration!,
    apiKeyId: ids.ApiKey!,
    deploymentIds: [ids.Deployment!],
    tagValueIds: [ids.Tag!],
    ids: TYPES.map((type) => ids[type]!),
  },
  byType: { ...ids, Node: ids.Listener! },
})

/** What a listener's key is for, and what its own tests are about. */
const DATA_PLANE = /^\/v2\/listeners\/\{listener_id\}\/(claims|heartbeat)/

const others = operations.filter(({ path }) => !DATA_PLANE.test(path))

test.each(others.map(({ method, path }) => [method, path] as const))('REST refuses it %s %s', async (method, path) => {
  const target = path
    .replace('{deployment_id}', ids.Deployment!)
    .replace('{revision_id}', ids.Revision!)
    .replace('{integration_id}', ids.GitIntegration!)
    .replace('{listener_id}', ids.Listener!)
  const answer = await app.rest(method, target, {
    key,
    ...(method === 'POST' || method === 'PATCH' ? { body: {} } : {}),
  })
  expect([answer.status, answer.body.code], answer.text).toEqual([403, 'FORBIDDEN'])
})

describe('GraphQL', () => {
  const of = (kind: OperationTypeNode) => Object.keys(schema.getRootType(kind)!.getFields())
  const operationOf = (kind: OperationTypeNode, name: string) =>
    fields(kind, victims()).find((one) => one.name === name)!

  test.each(of(OperationTypeNode.QUERY))('refuses it the query %s', async (name) => {
    const { text, variables } = operationOf(OperationTypeNode.QUERY, name)
    const { data, errors } = await app.gql(text, variables, { key })
    expect(Object.values(data ?? {}).filter((value) => value !== null)).toEqual([])
    expect(errors!.map(({ extensions }) => extensions.code)).toEqual(['FORBIDDEN'])
  })

  test.each(of(OperationTypeNode.MUTATION))('refuses it the mutation %s', async (name) => {
    const { text, variables } = operationOf(OperationTypeNode.MUTATION, name)
    const { data, errors } = await app.gql(text, variables, { key })
    expect(errors).toBeUndefined()
    expect(data[name]).toMatchObject({ __typename: 'ForbiddenError', code: 'FORBIDDEN' })
  })

  test.each(of(OperationTypeNode.SUBSCRIPTION))('refuses it the subscription %s', async (name) => {
    const { text, variables } = operationOf(OperationTypeNode.SUBSCRIPTION, name)
    const answer = await app.gql(text, variables, { key, headers: { accept: 'text/event-stream' } })
    expect(answer.text).toContain('"code":"FORBIDDEN"')
    expect(answer.text).not.toContain('"data":{')
  })
})

test('it is good in its own workspace only', async () => {
  const answer = await app.rest('GET', '/v2/listeners', { key, tenant: app.sibling.workspaceId })
  expect(answer.status).toBe(403)
  expect((await app.context(key)).actor).toMatchObject({
    role: 'listener',
    listenerId: ids.Listener,
    workspaceId: app.tenant.workspaceId,
    secretsRead: false,
  })
})
