/** `subscription deploymentsChanged` as a dashboard follows it, on a server with its background jobs. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { setDeploymentTags } from '../../src/domain/tags.ts'
import { type TestApp, testApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
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

const SUBSCRIBE = `subscription ($after: String, $deploymentId: ID) {
  deploymentsChanged(after: $after, deploymentId: $deploymentId) {
    cursor deploymentIds
    deployments { id name status serving health { ready desired } tags { key value } latestRevision { number status statusMessage } } } }`

async function subscribe(variables: object = {}, headers: Record<string, string> = {}): Promise<SseClient> {
  const params = new URLSearchParams({ query: SUBSCRIBE, variables: JSON.stringify(variables) })
  const client = await openEvents(`${app.url}/graphql?${params}`, { 'x-api-key': app.keys.viewer, ...headers })
  open.push(client)
  return client
}
const change = async (stream: SseClient) => (await stream.next())?.data.data.deploymentsChanged
const tag = async (deploymentId: string, value: string) =>
  setDeploymentTags(await app.context(app.keys.deployer), {
    path: { deployment_id: deploymentId },
    body: { tags: [{ key: 'stage', value }] },
  })

test('the stream begins with a cursor, sends the current deployment, and can be resumed', async () => {
  const stream = await subscribe()
  const first = await change(stream)
  expect(first).toEqual({ cursor: expect.any(String), deploymentIds: [], deployments: [] })
  const { id, name } = await imageDeployment(app)
  const made = await change(stream)
  expect(made).toMatchObject({ deploymentIds: [id], deployments: [{ id, name, serving: false, tags: [] }] })
  await tag(id, 'one')
  const tagged = await change(stream)
  expect(tagged.deployments).toMatchObject([
    { id, tags: [{ key: 'stage', value: 'one' }], latestRevision: { number: 1 } },
  ])
  const back = await change(await subscribe({ after: first.cursor }))
  expect(back.deployments).toEqual(tagged.deployments)
})

test('a deployment that was torn down is in the ids but not in the deployments', async () => {
  const { id } = await imageDeployment(app)
  const stream = await subscribe({ deploymentId: id })
  await change(stream)
  await app.app.core.db.deployment.update({ where: { id }, data: { tornDownAt: new Date() } })
  let last = await change(stream)
  while (last.deployments.length > 0) last = await change(stream)
  expect(last.deploymentIds).toEqual([id])
})

test('many changes at the same time are read with few statements', async () => {
  const ids = await Promise.all(Array.from({ length: 10 }, async () => (await imageDeployment(app)).id))
  const stream = await subscribe()
  await change(stream)
  const seen = new Set<string>()
  const statements = await countStatements(app.app.database, async () => {
    await app.app.core.db.deployment.updateMany({ where: { id: { in: ids } }, data: { imageVersion: '2' } })
    while (!ids.every((id) => seen.has(id))) for (const id of (await change(stream)).deploymentIds) seen.add(id)
  })
  expect(statements.filter((text) => /FROM "?(public"?\.)?"?deployments/.test(text)).length).toBeLessThan(10)
})

test('a subscriber gets nothing of another workspace, and its deployments are not found', async () => {
  const theirs = await subscribe({}, { 'x-api-key': app.other.keys.viewer })
  await change(theirs)
  const { id } = await imageDeployment(app)
  const refused = await subscribe({ deploymentId: id }, { 'x-api-key': app.other.keys.admin })
  expect((await refused.take(1))[0]?.data.errors[0].extensions).toMatchObject({ code: 'NOT_FOUND' })
  const { id: own } = await imageDeployment(app, {}, { key: app.other.keys.admin })
  expect((await change(theirs)).deploymentIds).toEqual([own])
})
