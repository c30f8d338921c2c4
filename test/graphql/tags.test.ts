/** Tags, which only GraphQL sets. */
import { describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'

const app = useApp()

describe('tags', () => {
  const SET = `mutation ($id: ID!, $tags: [DeploymentTagInput!]!) {
    setDeploymentTags(input: { deploymentId: $id, tags: $tags }) { __typename
      ... on SetDeploymentTagsSuccess { deployment { tags { id key value } } }
      ... on Error { code } ... on ValidationError { issues { path code } } } }`
  const set = async (id: string, tags: object[], key = app.keys.deployer) =>
    (await app.gql(SET, { id, tags }, { key })).data.setDeploymentTags

  test('replace the previous tags, are shared by deployments, and filter the list', async () => {
    const [one, two] = [await gitDeployment(app), await gitDeployment(app)]
    const team = { key: 'team', value: 'search' }
    const { tags } = (await set(one.id, [{ key: 'stage', value: 'prod' }, team, team])).deployment
    expect(tags).toMatchObject([{ key: 'stage', value: 'prod' }, team])
    const again = (await set(two.id, [team])).deployment.tags
    expect(again).toEqual([tags[1]])

    const find = async (tag: { id: string }) => {
      const graphql = await app.gql(
        'query ($filter: DeploymentFilter) { deployments(filter: $filter) { nodes { id } } }',
        {
          filter: { tagValueIds: [tag.id] },
        },
      )
      const rest = await app.rest('GET', `/v2/deployments?tag_value_ids=${tag.id}`)
      const ids = graphql.data.deployments.nodes.map((node: { id: string }) => node.id)
      expect(rest.body.resources.map((resource: { id: string }) => resource.id)).toEqual(ids)
      return ids
    }
    expect(await find(tags[1])).toEqual([two.id, one.id])
    await set(one.id, [])
    expect(await find(tags[1])).toEqual([two.id])
    expect(await find(tags[0])).toEqual([])

    const { data } = await app.gql('{ tags(first: 1) { totalCount nodes { key } pageInfo { hasNextPage } } }')
    expect(data.tags).toMatchObject({ totalCount: 2, pageInfo: { hasNextPage: true } })
  })

  test('are events of the deployment, unless nothing changed', async () => {
    const { id } = await gitDeployment(app)
    for (const _ of [1, 2]) await set(id, [{ key: 'a', value: 'b' }])
    const { data } = await app.gql('query ($id: ID!) { deployment(id: $id) { events(last: 2) { nodes { type } } } }', {
      id,
    })
    expect(data.deployment.events.nodes).toEqual([{ type: 'revision.status' }, { type: 'deployment.tagged' }])
  })

  test('have limits, and need the role deployer', async () => {
    const { id } = await gitDeployment(app)
    expect(await set(id, [{ key: '', value: 'x'.repeat(129) }])).toMatchObject({
      __typename: 'ValidationError',
      issues: [
        { path: ['input', 'tags', '0', 'key'], code: 'string_too_short' },
        { path: ['input', 'tags', '0', 'value'], code: 'string_too_long' },
      ],
    })
    const many = Array.from({ length: 51 }, (_, i) => ({ key: 'k', value: String(i) }))
    expect((await set(id, many)).issues).toEqual([{ path: ['input', 'tags'], code: 'too_long' }])
    expect(await set(id, [], app.keys.viewer)).toMatchObject({ __typename: 'ForbiddenError' })
    await app.app.core.db.deployment.update({ where: { id }, data: { deletedAt: new Date() } })
    expect(await set(id, [])).toMatchObject({ __typename: 'ConflictError' })
  })

  test('are created once by concurrent calls', async () => {
    const deployments = await Promise.all(Array.from({ length: 8 }, () => gitDeployment(app)))
    const tags = Array.from({ length: 10 }, (_, i) => ({ key: 'at-once', value: String(i) }))
    const results = await Promise.all(deployments.map(({ id }, i) => set(id, i % 2 ? tags : [...tags].reverse())))
    for (const { deployment } of results) expect(deployment.tags).toEqual(results[0].deployment.tags)
    expect(results[0].deployment.tags).toHaveLength(10)
  })
})
