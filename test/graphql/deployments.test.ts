/** Deployments and revisions through GraphQL: reads, writes as unions, errors as data. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, testApp } from '../support/app.ts'
import { gitDeployment, imageDeployment, listener } from '../support/factories.ts'

let app: TestApp
beforeAll(async () => {
  app = await testApp()
})
afterAll(() => app.close())

const CREATE = `mutation ($input: CreateDeploymentInput!) { createDeployment(input: $input) {
  __typename
  ... on CreateDeploymentSuccess { deployment {
    id name source tenantId status createdAt updatedAt imageVersion statusMessage
    sourceConfig { integrationId repoUrl deploymentType buildOnPush customUrl listenerId installCommand buildCommand
      listenerConfig { k8sNamespace }
      resourceSpec { cpu cpuLimit minScale labels volumes { name configMap } sidecars { name env { name value valueFrom } volumeMounts { name mountPath } securityContext } } }
    sourceRevisionConfig { repoRef graphConfigPath imageUri sourceTarballPath repoCommitSha }
    secrets { name value } secretReferences { name secretName secretKey }
    latestRevision { id number status deployment { id } } activeRevision { id } listener { id } tracingProject { name }
    tags { key } health { ready } events { nodes { type } totalCount }
  } }
  ... on Error { message code }
  ... on ValidationError { issues { path message code } }
} }`

const gitInput = (name: string) => ({
  name,
  source: 'gitprovider',
  sourceConfig: {
    integrationId: app.tenant.integrationId,
    repoUrl: 'https://example.com/acme/agent.git',
    resourceSpec: {
      cpu: 1.26,
      labels: { some_key: 'snake', camelKey: 'camel' },
      volumes: [{ name: 'config', configMap: { defaultMode: 420, itemsList: [] } }],
      sidecars: [
        {
          name: 'proxy',
          env: [{ name: 'A', value: 'b' }],
          volumeMounts: [{ name: 'config', mountPath: '/etc/config' }],
          securityContext: { runAsNonRoot: true },
        },
      ],
    },
  },
  sourceRevisionConfig: { repoRef: 'main', graphConfigPath: 'graph.json' },
  secrets: [{ name: 'TOKEN', value: 'hush' }],
})

describe('createDeployment', () => {
  test('creates a deployment and returns it with its relations', async () => {
    const { data, errors } = await app.gql(CREATE, { input: gitInput('whole') })
    expect(errors).toBeUndefined()
    expect(data.createDeployment).toMatchObject({
      __typename: 'CreateDeploymentSuccess',
      deployment: {
        name: 'whole',
        source: 'gitprovider',
        tenantId: app.tenant.workspaceId,
        status: 'AWAITING_DATABASE',
        sourceConfig: {
          integrationId: app.tenant.integrationId,
          deploymentType: 'dev',
          buildOnPush: false,
          listenerConfig: null,
          resourceSpec: {
            cpu: 1.3,
            cpuLimit: null,
            labels: { some_key: 'snake', camelKey: 'camel' },
            volumes: [{ name: 'config', configMap: { defaultMode: 420, itemsList: [] } }],
            sidecars: [{ volumeMounts: [{ name: 'config', mountPath: '/etc/config' }] }],
          },
        },
        sourceRevisionConfig: { repoRef: 'main', graphConfigPath: 'graph.json', imageUri: null, repoCommitSha: null },
        secrets: [{ name: 'TOKEN', value: 'hush' }],
        secretReferences: null,
        latestRevision: { number: 1, status: 'CREATING' },
        activeRevision: null,
        listener: null,
        tracingProject: { name: 'whole' },
        tags: [],
        health: { ready: 0 },
      },
    })
    expect(data.createDeployment.deployment.latestRevision.deployment.id).toBe(data.createDeployment.deployment.id)
  })

  test('lists every broken rule with the path of its input field', async () => {
    const input = { ...gitInput('wrong'), sourceRevisionConfig: { repoRef: 'main', imageUri: 'a/b:1' } }
    const { data } = await app.gql(CREATE, { input })
    expect(data.createDeployment).toMatchObject({ __typename: 'ValidationError', code: 'VALIDATION_FAILED' })
    expect(data.createDeployment.issues.map((issue: { path: string[] }) => issue.path)).toEqual(
      expect.arrayContaining([
        ['input', 'sourceRevisionConfig', 'graphConfigPath'],
        ['input', 'sourceRevisionConfig', 'imageUri'],
      ]),
    )
    expect(data.createDeployment.message).toContain('input.sourceRevisionConfig.graphConfigPath: ')
  })

  test('reports violations that GraphQL’s types can’t express with the same paths', async () => {
    const input = gitInput('bounds')
    input.sourceConfig.resourceSpec.cpu = 9
    input.sourceConfig.integrationId = 'no-uuid'
    const { data } = await app.gql(CREATE, { input })
    expect(data.createDeployment.issues).toEqual(
      expect.arrayContaining([
        { path: ['input', 'sourceConfig', 'integrationId'], message: 'Must be a UUID.', code: 'uuid_parsing' },
        {
          path: ['input', 'sourceConfig', 'resourceSpec', 'cpu'],
          message: 'Must be at most 8.',
          code: 'less_than_equal',
        },
      ]),
    )
  })

  test('leaves names in Kubernetes objects and labels unchanged in the path of an issue', async () => {
    const input = gitInput('opaque')
    input.sourceConfig.resourceSpec.sidecars[0]!.volumeMounts[0]!.name = 'nowhere'
    const { data } = await app.gql(CREATE, { input })
    expect(data.createDeployment.issues[0].path).toEqual([
      ...['input', 'sourceConfig', 'resourceSpec', 'sidecars', '0', 'volumeMounts', '0', 'name'],
    ])
  })

  test('answers ConflictError for a taken name and ForbiddenError to a viewer', async () => {
    await app.gql(CREATE, { input: gitInput('taken') })
    const again = await app.gql(CREATE, { input: gitInput('taken') })
    expect(again.data.createDeployment).toMatchObject({ __typename: 'ConflictError', code: 'ALREADY_EXISTS' })
    const viewer = await app.gql(CREATE, { input: gitInput('mine') }, { key: app.keys.viewer })
    expect(viewer.data.createDeployment).toMatchObject({ __typename: 'ForbiddenError', code: 'FORBIDDEN' })
  })

  test('answers NotFoundError for an integration of another tenant', async () => {
    const input = gitInput('foreign')
    input.sourceConfig.integrationId = app.other.integrationId
    const { data } = await app.gql(CREATE, { input })
    expect(data.createDeployment).toMatchObject({ __typename: 'NotFoundError', code: 'NOT_FOUND' })
  })

  test('answers VALIDATION_FAILED for a value of the wrong type', async () => {
    const { errors, status } = await app.gql(CREATE, { input: { ...gitInput('typed'), source: 'nowhere' } })
    expect(errors?.[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', status: 422, retryable: false })
    expect([200, 400]).toContain(status)
  })
})

describe('other writes', () => {
  test('updateDeployment changes the given members, and a git ref creates a revision', async () => {
    const { id } = await gitDeployment(app)
    const { data } = await app.gql(
      `mutation ($input: UpdateDeploymentInput!) { updateDeployment(input: $input) { __typename
        ... on UpdateDeploymentSuccess { deployment { sourceRevisionConfig { repoRef graphConfigPath }
          revisions { totalCount nodes { number status } } } } } }`,
      { input: { deploymentId: id, sourceRevisionConfig: { repoRef: 'next' } } },
    )
    expect(data.updateDeployment).toEqual({
      __typename: 'UpdateDeploymentSuccess',
      deployment: {
        sourceRevisionConfig: { repoRef: 'next', graphConfigPath: 'graph.json' },
        revisions: {
          totalCount: 2,
          nodes: [
            { number: 2, status: 'CREATING' },
            { number: 1, status: 'SKIPPED' },
          ],
        },
      },
    })
  })

  test('createRevision, interruptRevision and redeployRevision answer with the revision', async () => {
    const { id } = await imageDeployment(app)
    const run = async (field: string, input: object) => {
      const name = field[0]!.toUpperCase() + field.slice(1)
      const { data, errors } = await app.gql(
        `mutation ($input: ${name}Input!) { ${field}(input: $input) { __typename
          ... on ${name}Success { revision { id number status attempt } } ... on Error { code message } } }`,
        { input },
      )
      expect(errors).toBeUndefined()
      return data[field]
    }
    const { revision } = await run('createRevision', { deploymentId: id })
    expect(revision).toMatchObject({ number: 2, status: 'CREATING', attempt: 1 })
    const ids = { deploymentId: id, revisionId: revision.id }
    expect(await run('redeployRevision', ids)).toMatchObject({
      __typename: 'NotRedeployableError',
      code: 'NOT_REDEPLOYABLE',
    })
    expect((await run('interruptRevision', ids)).revision.status).toBe('INTERRUPTED')
    expect(await run('interruptRevision', ids)).toMatchObject({ __typename: 'ConflictError', code: 'CONFLICT' })
    expect((await run('redeployRevision', ids)).revision).toMatchObject({ status: 'CREATING', attempt: 2 })
  })

  test('deleteDeployment succeeds twice, and deleteDeployments reports each outcome', async () => {
    const first = await gitDeployment(app)
    const second = await gitDeployment(app)
    const one = `mutation ($id: ID!) { deleteDeployment(input: { deploymentId: $id }) {
      ... on DeleteDeploymentSuccess { deploymentId } ... on Error { code } } }`
    for (const _ of [1, 2])
      expect((await app.gql(one, { id: first.id })).data.deleteDeployment).toEqual({ deploymentId: first.id })
    const unknown = '00000000-0000-4000-8000-000000000000'
    const { data } = await app.gql(
      `mutation ($ids: [ID!]!) { deleteDeployments(input: { deploymentIds: $ids }) {
        ... on DeleteDeploymentsSuccess { results { deploymentId deleted message } } } }`,
      { ids: [second.id, unknown] },
    )
    expect(data.deleteDeployments.results).toEqual([
      { deploymentId: second.id, deleted: true, message: null },
      { deploymentId: unknown, deleted: false, message: `Deployment ID ${unknown} not found.` },
    ])
  })
})

describe('reads', () => {
  test('deployment, revision and listener of an unknown id are null with the error NOT_FOUND', async () => {
    const id = '00000000-0000-4000-8000-000000000000'
    const { data, errors } = await app.gql(
      `query ($id: ID!) { deployment(id: $id) { id } revision(id: $id) { id } listener(id: $id) { id } }`,
      { id },
    )
    expect(data).toEqual({ deployment: null, revision: null, listener: null })
    expect(errors?.map((error) => [error.path[0], error.extensions.code]).sort()).toEqual([
      ['deployment', 'NOT_FOUND'],
      ['listener', 'NOT_FOUND'],
      ['revision', 'NOT_FOUND'],
    ])
  })

  test('an id that is not a UUID is VALIDATION_FAILED', async () => {
    const { errors } = await app.gql(`{ deployment(id: "nonsense") { id } }`)
    expect(errors?.[0].extensions).toMatchObject({
      code: 'VALIDATION_FAILED',
      issues: [{ path: ['id'], code: 'uuid_parsing' }],
    })
  })

  test('secrets are masked for callers who may not read them', async () => {
    const { id } = await gitDeployment(app, { secrets: [{ name: 'A', value: 'hush' }] })
    const read = async (key: string) =>
      (await app.gql(`query ($id: ID!) { deployment(id: $id) { secrets { name value } } }`, { id }, { key })).data
        .deployment.secrets
    expect(await read(app.keys.viewer)).toEqual([{ name: 'A', value: '••••••••' }])
    expect(await read(app.keys.secretsReader)).toEqual([{ name: 'A', value: 'hush' }])
  })

  test('a listener has its deployments, and each deployment its listener', async () => {
    const one = await listener(app)
    const { id } = await imageDeployment(app, { source_config: { listener_id: one.id } })
    const { data, errors } = await app.gql(
      `query ($id: ID!, $listener: ID!) {
        deployment(id: $id) { status listener { id status computeConfig { k8sNamespaces } } }
        listener(id: $listener) { computeType computeId }
        listeners { totalCount nodes { id } } }`,
      { id, listener: one.id },
    )
    expect(errors).toBeUndefined()
    expect(data.deployment).toMatchObject({
      listener: { id: one.id, status: 'ONLINE', computeConfig: { k8sNamespaces: ['agents'] } },
    })
    expect(data.listener).toEqual({ computeType: 'k8s', computeId: one.computeId })
    expect(data.listeners).toEqual({ totalCount: 1, nodes: [{ id: one.id }] })
  })

  test('viewer returns the caller', async () => {
    const { data } = await app.gql(
      `{ viewer { subject role secretsRead workspace { id organization { plan } } organization { id } } }`,
      {},
      { key: app.keys.deployer },
    )
    expect(data.viewer).toMatchObject({
      role: 'deployer',
      secretsRead: false,
      workspace: { id: app.tenant.workspaceId, organization: { plan: 'self_hosted_enterprise' } },
      organization: { id: app.tenant.organizationId },
    })
  })

  test('gitIntegrations lists the repositories that can be deployed', async () => {
    const { data, errors } = await app.gql(`{ gitIntegrations { id kind name repositories { nodes { url } } } }`)
    expect(errors).toBeUndefined()
    expect(data.gitIntegrations).toEqual([
      { id: app.tenant.integrationId, kind: 'directory', name: expect.any(String), repositories: { nodes: [] } },
    ])
  })
})
