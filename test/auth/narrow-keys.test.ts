/**
 * Keys of listeners, builders, agents and callers can only do their own work: every REST operation is tried with each, and every
 * GraphQL field with an agent's. New operations are covered automatically.
 */
import { type OperationDefinitionNode, OperationTypeNode, parse, print, visit } from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../src/api/graphql/schema.ts'
import { operations } from '../../src/api/rest/operations.ts'
import { operations as fields, victimsOf } from '../graphql/walk.ts'
import { newKey, useApp } from '../support/app.ts'
import { agentKey, builderKey, listenerKey } from '../support/factories.ts'
import { type Ids, oneOfEach, pathOf } from '../support/one-of-each.ts'

const AGENT = 'support-bot'
const app = useApp()
let keys: Record<'listener' | 'agent' | 'builder' | 'caller', string>
/** one resource per type in the keys' workspace, including those that the keys are for */
let ids: Ids
beforeAll(async () => {
  const agent = await agentKey(app, AGENT)
  // the token is the agent's own, so that ownership is no obstacle
  ids = await oneOfEach(app, { agent: AGENT, owner: agent })
  const { workspaceId } = app.tenant
  keys = {
    listener: await listenerKey(app, { id: ids.Listener, workspaceId }),
    agent,
    builder: await builderKey(app),
    caller: await newKey(app.app.core, { ...app.tenant, role: 'caller' }),
  }
})

/** The allowed operations of each role; other tests cover them. */
const OWN = {
  listener: { tag: 'Data plane' },
  builder: { tag: 'Builders' },
  agent: { tag: 'Agents', field: 'issueAccessToken' },
  // agents are called at the door
  caller: { tag: undefined },
}

describe.each(['listener', 'agent', 'builder', 'caller'] as const)('the key of a %s', (role) => {
  const others = operations.filter(({ tag }) => tag !== OWN[role].tag)

  test.each(others.map(({ method, path }) => [method, path] as const))('is refused %s %s', async (method, path) => {
    const target = pathOf(path, ids)
    const answer = await app.rest(method, target, {
      key: keys[role],
      ...(method === 'POST' || method === 'PATCH' ? { body: {} } : {}),
    })
    expect([answer.status, answer.body.code], answer.text).toEqual([403, 'FORBIDDEN'])
  })

  test('works only in its own workspace', async () => {
    const answer = await app.rest('GET', '/v2/deployments', { key: keys[role], tenant: app.sibling.workspaceId })
    expect(answer.status).toBe(403)
    // the API refuses a caller in every workspace
    if (role === 'caller') return
    expect((await app.context(keys[role])).actor).toMatchObject({
      role,
      listenerId: role === 'listener' ? ids.Listener : null,
      agentId: role === 'agent' ? AGENT : null,
      workspaceId: app.tenant.workspaceId,
      secretsRead: false,
    })
  })
})

describe('the key of an agent', () => {
  const of = (kind: OperationTypeNode) =>
    Object.keys(schema.getRootType(kind)!.getFields()).filter((name) => name !== OWN.agent.field)
  /** Selects only `__typename`, because an agent's document must be small. */
  const operationOf = (kind: OperationTypeNode, name: string) => {
    const { text, variables } = fields(kind, victimsOf(ids)).find((one) => one.name === name)!
    const onlyType = parse('{ __typename }').definitions[0] as OperationDefinitionNode
    let outermost = true
    const shallow = visit(parse(text), {
      Field(node) {
        if (!outermost || !node.selectionSet) return undefined
        outermost = false
        return { ...node, selectionSet: onlyType.selectionSet }
      },
    })
    const asked = print((shallow.definitions[0] as OperationDefinitionNode).selectionSet)
    const document = visit(shallow, {
      VariableDefinition: ({ variable }) => (new RegExp(`\\$${variable.name.value}\\b`).test(asked) ? undefined : null),
    })
    return { text: print(document), variables }
  }

  test.each(of(OperationTypeNode.QUERY))('is refused the query %s', async (name) => {
    const { text, variables } = operationOf(OperationTypeNode.QUERY, name)
    const { data, errors } = await app.gql(text, variables, { key: keys.agent })
    expect(Object.values(data ?? {}).filter((value) => value !== null)).toEqual([])
    expect(errors!.map(({ extensions }) => extensions.code)).toEqual(['FORBIDDEN'])
  })

  test.each(of(OperationTypeNode.MUTATION))('is refused the mutation %s', async (name) => {
    const { text, variables } = operationOf(OperationTypeNode.MUTATION, name)
    const { data, errors } = await app.gql(text, variables, { key: keys.agent })
    expect(errors).toBeUndefined()
    expect(data[name]).toEqual({ __typename: 'ForbiddenError' })
  })

  test.each(of(OperationTypeNode.SUBSCRIPTION))('is refused the subscription %s', async (name) => {
    const { text, variables } = operationOf(OperationTypeNode.SUBSCRIPTION, name)
    const headers = { accept: 'text/event-stream' }
    const answer = await app.gql(text, variables, { key: keys.agent, headers })
    expect(answer.text).toContain('"code":"FORBIDDEN"')
    expect(answer.text).not.toContain('"data":{')
  })

  test('accepts one operation and at most 2 KB of document', async () => {
    const key = keys.agent
    const long = await app.gql(`{ __typename } #${'x'.repeat(2048)}`, {}, { key })
    expect(long.errors?.[0].message).toBe("An agent's document has at most 2048 characters.")
    const two = 'query A { __typename } query B { __typename }'
    // another caller may have parsed it before
    expect(
      (await app.rest('POST', '/graphql', { body: { query: two, operationName: 'A' } })).body.errors,
    ).toBeUndefined()
    const several = await app.rest('POST', '/graphql', { key, body: { query: two, operationName: 'A' } })
    expect(several.body.errors[0].message).toBe("An agent's document has one operation.")
    expect((await app.gql('{ __typename }', {}, { key })).data).toEqual({ __typename: 'Query' })
  })
})

test.each(['listener', 'caller'] as const)(
  'the key of a %s is rejected at /graphql before the body is read',
  async (role) => {
    const stream = { accept: 'text/event-stream' }
    const texts = ['{ __typename }', '{ nonsense', 'query { deployments(first: 1) { totalCount } }']
    for (const query of [...texts, 'subscription { revisionStatusChanged { cursor } }']) {
      const headers = query.startsWith('subscription') ? { headers: stream } : {}
      const { status, errors } = await app.gql(query, {}, { key: keys[role], ...headers })
      expect([status, errors?.[0].extensions.code]).toEqual([403, 'FORBIDDEN'])
    }
  },
)

test('the key of a caller opens no session', async () => {
  const { status } = await app.rest('POST', '/v2/sessions', { key: null, body: { api_key: keys.caller } })
  expect(status).toBe(403)
})

test('the allowed operations of each role exist once', () => {
  expect(operations.filter(({ tag }) => tag === OWN.agent.tag).map(({ operationId }) => operationId)).toEqual([
    'issueAccessToken',
  ])
  const dataPlane = operations.filter(({ tag }) => tag === OWN.listener.tag).map(({ path }) => path)
  expect(dataPlane.length).toBeGreaterThan(0)
  for (const path of dataPlane) expect(path).toMatch(/^\/v2\/listeners\/\{listener_id\}\/(claims|heartbeat|metrics)/)
  expect(schema.getMutationType()!.getFields()).toHaveProperty(OWN.agent.field)
})
