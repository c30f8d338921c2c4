/** Deployments as only GraphQL has them: relations, errors with paths. test/contract has their rules. */
import { describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'

const app = useApp()

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

  test('answers VALIDATION_FAILED for a value of the wrong type', async () => {
    const { errors, status } = await app.gql(CREATE, { input: { ...gitInput('typed'), source: 'nowhere' } })
    expect(errors?.[0].extensions).toMatchObject({ code: 'VALIDATION_FAILED', status: 422, retryable: false })
    expect([200, 400]).toContain(status)
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

  test('gitIntegrations lists the repositories that can be deployed', async () => {
    const { data, errors } = await app.gql(`{ gitIntegrations { id kind name repositories { nodes { url } } } }`)
    expect(errors).toBeUndefined()
    expect(data.gitIntegrations).toEqual([
      { id: app.tenant.integrationId, kind: 'directory', name: expect.any(String), repositories: { nodes: [] } },
    ])
  })
})
