/**
 * Statements of deployment mutations, including their answers: as many as the REST calls need. The answers equal the stored
 * state.
 */
import { expect, test } from 'vitest'
import { type TestApp, useApp } from '../support/app.ts'
import { countStatements } from '../support/database.ts'
import { listener } from '../support/factories.ts'

// no sweep: its statements would be counted
const app = useApp(() => ({ settings: { SWEEP_SECONDS: '3600' } }))

const REVISION = 'id number status statusMessage reason reasonSince statusSince attempt createdAt updatedAt deployedAt'
const DEPLOYMENT = `id name status serving reason reasonSince statusMessage version createdAt updatedAt imageVersion
  sourceConfig { listenerId listenerConfig { k8sNamespace } } sourceRevisionConfig { imageUri } secrets { name }
  listener { id computeId status lastSeenAt }
  latestRevision { ${REVISION} sourceRevisionConfig { imageUri } } activeRevision { id number }`
/** with parts that no row has: lists, and a link back */
const MORE = `${DEPLOYMENT} tracingProject { id name } tags { key } revisions(first: 3) { nodes { number status } }`

async function written(field: string, type: string, input: object, shown = DEPLOYMENT) {
  const selection = `deployment { ${shown} } revision { ${REVISION} deployment { id name } }`
  const query = `mutation Write($input: ${type}Input!) { ${field}(input: $input) { __typename ... on ${type}Success { ${selection} } } }`
  await app.gql('{ __typename }')
  let answer = { data: undefined } as Awaited<ReturnType<TestApp['gql']>>
  const statements = await countStatements(app.app.database, async () => {
    answer = await app.gql(query, { input })
  })
  expect(answer.errors).toBeUndefined()
  const { __typename, deployment, revision } = answer.data[field]
  expect(__typename).toBe(`${type}Success`)
  const after = await app.gql(
    `query After($deployment: ID!, $revision: ID!) {
      deployment(id: $deployment) { ${shown} } revision(id: $revision) { ${REVISION} deployment { id name } } }`,
    { deployment: deployment.id, revision: revision.id },
  )
  expect({ deployment, revision }).toEqual(after.data)
  return { deployment, revision, statements: statements.length }
}

/** Runs the life of one deployment and counts the statements of each call. */
async function life(name: string, sourceConfig: object, shown?: string) {
  const image = (tag: number) => ({ imageUri: `registry.example.com/agent:${tag}` })
  const secrets = [{ name: 'TOKEN', value: 'x' }]
  const common = { name, source: 'external_container', sourceConfig, sourceRevisionConfig: image(1), secrets }
  const create = await written('createDeployment', 'CreateDeployment', common, shown)
  const deploymentId = create.deployment.id
  const change = { deploymentId, sourceRevisionConfig: image(2), secrets: [...secrets, { name: 'MORE', value: 'y' }] }
  const update = await written('updateDeployment', 'UpdateDeployment', change, shown)
  const input = { deploymentId, revisionId: update.revision.id }
  const interrupt = await written('interruptRevision', 'InterruptRevision', input, shown)
  const redeploy = await written('redeployRevision', 'RedeployRevision', input, shown)
  const revise = await written('createRevision', 'CreateRevision', { deploymentId }, shown)
  const all = { create, update, interrupt, redeploy, revise }
  return Object.fromEntries(Object.entries(all).map(([call, { statements }]) => [call, statements]))
}

// interrupting reads no secrets, but this selection shows them
const COUNTED = { create: 3, update: 4, interrupt: 5, redeploy: 4, revise: 4 }

test('a mutation takes as many statements as the REST call, and its answer equals the stored state', async () => {
  expect(await life('counted', {})).toEqual(COUNTED)
})

test('a mutation’s answer can have parts that no row has', async () => {
  await life('with-lists', {}, MORE)
})

test('selecting the whole listener takes one more statement, unless the deployment is read anyway', async () => {
  const { id } = await listener(app)
  const sourceConfig = { listenerId: id, listenerConfig: { k8sNamespace: 'agents' } }
  const counted = await life('on-a-listener', sourceConfig)
  const more = Object.fromEntries(Object.entries(COUNTED).map(([call, count]) => [call, count + 1]))
  expect(counted).toEqual({ ...more, interrupt: COUNTED.interrupt })
})
