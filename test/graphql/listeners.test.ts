/** Listeners as only GraphQL has them: their deployments and authors. test/contract has their rules. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { imageDeployment, listener as stored } from '../support/factories.ts'

// no sweep: its statements would be counted
const app = useApp(() => ({ settings: { SWEEP_SECONDS: '3600' } }))

const on = (listener_id: string) =>
  imageDeployment(app, { source_config: { listener_id, listener_config: { k8s_namespace: 'agents' } } })

test('who registered a listener is shown', async () => {
  const body = { compute_type: 'k8s', compute_id: randomUUID(), compute_config: {} }
  const { id } = (await app.rest('POST', '/v2/listeners', { body })).body
  const { data } = await app.gql('query ($id: ID!) { listener(id: $id) { createdBy } }', { id })
  expect(data.listener.createdBy).toBe((await app.context(app.keys.admin)).actor.subject)
})

describe('the deployments of a listener', () => {
  test('are a list, newest first, without torn down ones', async () => {
    const one = await stored(app)
    const ids: string[] = []
    for (let i = 0; i < 4; i++) ids.unshift((await on(one.id)).id)
    await app.app.core.db.deployment.update({
      where: { id: ids.pop()! },
      data: { deletedAt: new Date(), tornDownAt: new Date() },
    })
    await on((await stored(app)).id)
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
