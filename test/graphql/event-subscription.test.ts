/** `subscription events`: the workspace's log as a GraphQL client follows it. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { setDeploymentTags } from '../../src/domain/tags.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { imageDeployment } from '../support/factories.ts'
import { openEvents, type SseClient } from '../support/sse.ts'

let app: TestApp
const open: SseClient[] = []
beforeAll(async () => {
  app = await testApp()
})
afterEach(() => {
  for (const one of open.splice(0)) one.close()
})
afterAll(() => app.close())

const SUBSCRIBE = `subscription ($after: String, $types: [String!], $deploymentId: ID) {
  events(after: $after, types: $types, deploymentId: $deploymentId) {
    cursor type deploymentId subjectId from to changed actor { kind subject name } occurredAt } }`

async function subscribe(variables: object, headers: Record<string, string> = {}): Promise<SseClient> {
  const params = new URLSearchParams({ query: SUBSCRIBE, variables: JSON.stringify(variables) })
  const client = await openEvents(`${app.url}/graphql?${params}`, { 'x-api-key': app.keys.viewer, ...headers })
  open.push(client)
  return client
}

const tag = async (deploymentId: string, value: string) =>
  setDeploymentTags(await app.context(app.keys.deployer), {
    path: { deployment_id: deploymentId },
    body: { tags: [{ key: 'stage', value }] },
  })
const eventOf = (sent: Awaited<ReturnType<SseClient['next']>>) => sent?.data.data.events

test('the stream sends each new event with actor and changed fields, and can be resumed after it', async () => {
  const { id } = await imageDeployment(app)
  const stream = await subscribe({})
  await tag(id, 'one')
  const first = eventOf(await stream.next())
  expect(first).toMatchObject({ type: 'tag.created', actor: { kind: 'api_key' }, subjectId: expect.any(String) })
  const second = eventOf(await stream.next())
  expect(second).toMatchObject({ type: 'deployment.tagged', deploymentId: id, changed: ['tags'] })
  const query = `{ events(first: 1, order: NEWEST_FIRST) { nodes {
    cursor type deploymentId subjectId from to changed actor { kind subject name } occurredAt } } }`
  expect((await app.gql(query)).data.events.nodes).toEqual([second])
  expect(eventOf(await (await subscribe({ after: first.cursor })).next())).toEqual(second)
  // a browser's EventSource reconnects with the same arguments and a header
  await tag(id, 'two')
  const back = await subscribe({ after: first.cursor }, { 'last-event-id': second.cursor })
  expect(eventOf(await back.next()).type).toBe('tag.created')
})

test('a stream of one deployment and some types sends nothing else and completes after the teardown', async () => {
  const { id } = await imageDeployment(app)
  const stream = await subscribe({ deploymentId: id, types: ['deployment.tagged'] })
  await imageDeployment(app)
  await tag(id, 'three')
  await app.rest('DELETE', `/v2/deployments/${id}`)
  const sent = await stream.rest()
  expect(sent.map((one) => eventOf(one)?.type ?? one.event)).toEqual(['deployment.tagged'])
})

test('another tenant’s deployment, an unknown type and an invalid cursor are rejected', async () => {
  const { id } = await imageDeployment(app)
  const refused = async (variables: object, headers = {}) =>
    (await (await subscribe(variables, headers)).take(1))[0]?.data.errors[0].extensions
  expect(await refused({ deploymentId: id }, { 'x-api-key': app.other.keys.admin })).toMatchObject({
    code: 'NOT_FOUND',
  })
  expect(await refused({ types: ['nonsense'] })).toMatchObject({ issues: [{ path: ['types', 0], code: 'enum' }] })
  expect(await refused({ after: 'x' })).toMatchObject({ issues: [{ path: ['after'], code: 'cursor_invalid' }] })
})
