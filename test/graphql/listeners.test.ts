/** Listeners over GraphQL: the rules of REST, with errors as members of the results, and their deployments. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { imageDeployment, listener as stored } from '../support/factories.ts'
import { mutate } from './mutate.ts'

// no sweep: its statements would be counted
const app = useApp(() => ({ settings: { SWEEP_SECONDS: '3600' } }))

const LISTENER = `id computeType computeId computeConfig { k8sNamespaces } version podClasses status lastSeenAt createdBy
  createdAt updatedAt deployments { totalCount nodes { id } }`

const change = (name: string, input: object, call = {}) =>
  mutate(app, name, name === 'deleteListener' ? 'listenerId' : `listener { ${LISTENER} }`, input, call)
const body = (more: object = {}) => ({
  computeType: 'k8s',
  computeId: `cluster-${randomUUID()}`,
  computeConfig: { k8sNamespaces: ['agents'] },
  ...more,
})
const made = async (more?: object) => (await change('createListener', body(more))).listener
const on = (listener_id: string, more: object = {}) => imageDeployment(app, { source_config: { listener_id, ...more } })

test('a listener is registered, read, changed and deleted', async () => {
  const one = await made({ version: '1' })
  expect(one).toMatchObject({
    computeType: 'k8s',
    computeConfig: { k8sNamespaces: ['agents'] },
    version: '1',
    podClasses: [],
    status: 'OFFLINE',
    lastSeenAt: null,
    createdBy: (await app.context(app.keys.admin)).actor.subject,
    deployments: { totalCount: 0, nodes: [] },
  })
  const read = await app.gql(`query ($id: ID!) { listener(id: $id) { ${LISTENER} } node(id: $id) { __typename id } }`, {
    id: one.id,
  })
  expect(read.data).toEqual({ listener: one, node: { __typename: 'Listener', id: one.id } })
  const rest = await app.rest('GET', `/v2/listeners/${one.id}`)
  expect(rest.body).toMatchObject({ id: one.id, compute_id: one.computeId, updated_at: one.updatedAt })

  const computeConfig = { k8sNamespaces: ['agents', 'more'] }
  const next = (await change('updateListener', { listenerId: one.id, computeConfig })).listener
  expect(next).toEqual({ ...one, computeConfig, updatedAt: expect.any(String) })
  expect(await change('deleteListener', { listenerId: one.id })).toEqual({
    __typename: 'DeleteListenerSuccess',
    listenerId: one.id,
  })
  expect((await app.gql('query ($id: ID!) { node(id: $id) { id } }', { id: one.id })).data.node).toBeNull()
})

describe('the deployments of a listener', () => {
  test('are a list, newest first, without torn down ones', async () => {
    const one = await made()
    const ids: string[] = []
    for (let i = 0; i < 4; i++) ids.unshift((await on(one.id)).id)
    await app.app.core.db.deployment.update({
      where: { id: ids.pop()! },
      data: { deletedAt: new Date(), tornDownAt: new Date() },
    })
    await on((await made()).id)
    const page = async (args: string) => {
      const { data, errors } = await app.gql(
        `query ($id: ID!) { listener(id: $id) { deployments(${args}) {
          totalCount nodes { id name latestRevision { status } } pageInfo { hasNextPage endCursor } } } }`,
        { id: one.id },
      )
      expect(errors).toBeUndefined()
      return data.listener.deployments
    }
    const first = await page('first: 2')
    expect(first.nodes.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2))
    expect(first).toMatchObject({ totalCount: 3, pageInfo: { hasNextPage: true } })
    expect(first.nodes[0].latestRevision.status).toBe('CREATING')
    const second = await page(`first: 2, after: "${first.pageInfo.endCursor}"`)
    expect(second.nodes.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2))
    expect((await page('last: 1')).nodes.map(({ id }: { id: string }) => id)).toEqual(ids.slice(2))
  })

  test('are read for many listeners together', async () => {
    for (let i = 0; i < 5; i++) await on((await stored(app)).id)
    const query = '{ listeners(first: 20) { nodes { id deployments(first: 3) { totalCount nodes { name } } } } }'
    const ask = () => app.gql(query)
    await ask() // the key's look-up is cached from here on
    const statements = await countStatements(app.app.database, ask)
    // the page with its deployments and their counts
    expect(statements).toHaveLength(1)
    const { data } = await ask()
    const newest: { deployments: { totalCount: number } }[] = data.listeners.nodes.slice(0, 5)
    expect(newest.map(({ deployments }) => deployments.totalCount)).toEqual([1, 1, 1, 1, 1])
  })
})

test('an admin creates a key for a listener, and it is deleted with the listener', async () => {
  const { id } = await made()
  const ask = (input: object) => mutate(app, 'createApiKey', 'key apiKey { id role listenerId }', input)
  const { key, apiKey } = await ask({ name: 'cluster', role: 'listener', listenerId: id })
  expect(apiKey).toMatchObject({ role: 'listener', listenerId: id })
  // a valid listener key may not use GraphQL (403); a deleted one is unknown (401)
  const status = async () => (await app.gql('{ viewer { role } }', {}, { key })).status
  expect(await status()).toBe(403)
  const claims = { max: 1, lease_seconds: 30, wait_seconds: 0 }
  expect((await app.rest('POST', `/v2/listeners/${id}/claims`, { key, body: claims })).status).toBe(200)
  await change('deleteListener', { listenerId: id })
  expect(await status()).toBe(401)

  expect(await ask({ name: 'x', role: 'listener' })).toMatchObject({
    __typename: 'ValidationError',
    issues: [{ path: ['input', 'listenerId'], code: 'missing' }],
  })
  expect(await ask({ name: 'x', role: 'listener', listenerId: id })).toMatchObject({ __typename: 'NotFoundError' })
})
