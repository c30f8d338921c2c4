/** A write returns its own outcome during concurrent writes (docs/api-rules.md#errors), through both transports. */
import { expect, test } from 'vitest'
import { mutate } from '../graphql/mutate.ts'
import { useApp } from '../support/app.ts'
import { gitDeployment, imageDeployment, listener } from '../support/factories.ts'

const app = useApp()

/** A caller's answer in one form for both transports. */
interface Told {
  revision: string | null
  latest: string
  ref: string
  secrets: { name: string; value: string }[]
}

const DEPLOYMENT = `id secrets { name value } sourceRevisionConfig { repoRef } latestRevision { id }
  revisions(first: 1) { nodes { id } }`

/** `path`: of the REST call, below the deployment. */
async function byRest(method: string, id: string, path: string, body?: object, key?: string): Promise<Told> {
  const answer = await app.rest(method, `/v2/deployments/${id}${path}`, { body, key })
  expect(answer.status, answer.text).toBeLessThan(300)
  const revision = answer.headers.get('x-revision-id')
  const { source_revision_config: source, secrets } = answer.body
  // for calls that answer a revision it is the one that they made
  const latest = answer.body.latest_revision_id ?? answer.body.id
  return { revision, latest, ref: source.repo_ref, secrets }
}

async function byGraphQL(name: string, input: object, key?: string): Promise<Told> {
  const { __typename, deployment, revision } = await mutate(
    app,
    name,
    `deployment { ${DEPLOYMENT} } revision { id sourceRevisionConfig { repoRef } deployment { secrets { value } } }`,
    input,
    { key },
  )
  expect(__typename).toMatch(/Success$/)
  const { latestRevision, secrets, sourceRevisionConfig, revisions } = deployment
  expect(revisions.nodes).toEqual([latestRevision])
  expect(revision?.sourceRevisionConfig ?? sourceRevisionConfig).toEqual(sourceRevisionConfig)
  return { revision: revision?.id ?? null, latest: latestRevision.id, ref: sourceRevisionConfig.repoRef, secrets }
}

const numbers = Array.from({ length: 20 }, (_, n) => n)
const refOf = async (id: string) => (await app.app.core.db.revision.findUniqueOrThrow({ where: { id } })).repoRef
const said = (n: number) => ({ ref: `branch-${n}`, secrets: [{ name: 'MINE', value: `value-of-${n}` }] })

test('of 20 concurrent PATCHes each caller gets its own revision and secrets', async () => {
  const { id } = await gitDeployment(app)
  const told = await Promise.all(
    numbers.map((n) => {
      const { ref, secrets } = said(n)
      return n % 2
        ? byRest('PATCH', id, '', { source_revision_config: { repo_ref: ref }, secrets })
        : byGraphQL('updateDeployment', { deploymentId: id, sourceRevisionConfig: { repoRef: ref }, secrets })
    }),
  )
  expect(told).toEqual(numbers.map((n) => ({ ...said(n), revision: told[n]!.latest, latest: told[n]!.latest })))
  expect(new Set(told.map(({ latest }) => latest)).size).toBe(20)
  expect(await Promise.all(told.map(({ latest }) => refOf(latest)))).toEqual(told.map(({ ref }) => ref))
})

test('a caller without secrets:read gets its own revision, and no value', async () => {
  const { id } = await gitDeployment(app)
  const key = app.keys.deployer
  const told = await Promise.all(
    numbers.slice(0, 6).map((n) => {
      const { ref, secrets } = said(n)
      return n % 2
        ? byRest('PATCH', id, '', { source_revision_config: { repo_ref: ref }, secrets }, key)
        : byGraphQL('updateDeployment', { deploymentId: id, sourceRevisionConfig: { repoRef: ref }, secrets }, key)
    }),
  )
  expect(told.map(({ ref, secrets }) => [ref, secrets])).toEqual(
    told.map((_, n) => [`branch-${n}`, [{ name: 'MINE', value: '••••••••' }]]),
  )
})

test('concurrent new revisions are each returned to their creator', async () => {
  const { id } = await gitDeployment(app)
  const told = await Promise.all(
    numbers.map((n) => {
      const { ref, secrets } = said(n)
      return n % 2
        ? byRest('POST', id, '/revisions', { source_revision_config: { repo_ref: ref }, secrets })
        : byGraphQL('createRevision', { deploymentId: id, sourceRevisionConfig: { repoRef: ref }, secrets })
    }),
  )
  for (const [n, { revision, latest, ref }] of told.entries()) {
    expect([revision, ref]).toEqual([latest, `branch-${n}`])
    expect(await refOf(revision!)).toBe(ref)
  }
  expect(new Set(told.map(({ latest }) => latest)).size).toBe(20)
})

test('a change without a revision names none, and returns its values', async () => {
  const { id, latest_revision_id: first } = await imageDeployment(app)
  const urls = numbers.slice(0, 10).map((n) => `https://agent-${n}.example.com/`)
  const told = await Promise.all(
    urls.map(async (url, n) => {
      if (n % 2) {
        const { headers, body } = await app.rest('PATCH', `/v2/deployments/${id}`, {
          body: { source_config: { custom_url: url } },
        })
        return [headers.get('x-revision-id'), body.latest_revision_id, body.source_config.custom_url]
      }
      const answer = await mutate(
        app,
        'updateDeployment',
        'deployment { sourceConfig { customUrl } latestRevision { id } } revision { id }',
        { deploymentId: id, sourceConfig: { customUrl: url } },
      )
      const { latestRevision, sourceConfig } = answer.deployment
      return [answer.revision, latestRevision.id, sourceConfig.customUrl]
    }),
  )
  expect(told).toEqual(urls.map((url) => [null, first, url]))
})

test('create, redeploy and interrupt name their revision', async () => {
  const created = await app.rest('POST', '/v2/deployments', {
    body: {
      name: 'named',
      source: 'external_container',
      source_config: {},
      source_revision_config: { image_uri: 'registry.example.com/agent:1' },
      secrets: [],
    },
  })
  const { id, latest_revision_id: first } = created.body
  expect(created.headers.get('x-revision-id')).toBe(first)
  const at = `/v2/deployments/${id}/revisions/${first}`
  const interrupted = await app.rest('POST', `${at}/interrupt`)
  expect([interrupted.headers.get('x-revision-id'), interrupted.body.status]).toEqual([first, 'INTERRUPTED'])
  const second = await byRest('PATCH', id, '', { secrets: [{ name: 'A', value: 'b' }] })

  // latest does not move: the header names the revision
  const redeployed = await app.rest('POST', `${at}/redeploy`)
  expect(redeployed.headers.get('x-revision-id')).toBe(first)
  expect(redeployed.body.latest_revision_id).toBe(second.latest)
  const input = { deploymentId: id, revisionId: first }
  const both = 'deployment { id latestRevision { id } } revision { id status attempt }'
  expect(await mutate(app, 'interruptRevision', both, input)).toMatchObject({
    deployment: { id, latestRevision: { id: second.latest } },
    revision: { id: first, status: 'INTERRUPTED' },
  })
  expect(await mutate(app, 'redeployRevision', both, input)).toMatchObject({
    deployment: { latestRevision: { id: second.latest } },
    revision: { id: first, status: 'CREATING', attempt: 3 },
  })
  const input2 = {
    name: 'named, too',
    source: 'external_container',
    sourceConfig: {},
    sourceRevisionConfig: { imageUri: 'registry.example.com/agent:1' },
    secrets: [],
  }
  const made = await mutate(app, 'createDeployment', 'deployment { latestRevision { id } } revision { id }', input2)
  expect(made.revision).toEqual(made.deployment.latestRevision)
})

test('a mutation without selected rows reads nothing back', async () => {
  const { id } = await imageDeployment(app)
  expect(await mutate(app, 'updateDeployment', '__typename', { deploymentId: id, secrets: [] })).toEqual({
    __typename: 'UpdateDeploymentSuccess',
  })
  const aliased = 'a: deployment { latestRevision { id } } b: deployment { name latestRevision { number } }'
  expect(await mutate(app, 'updateDeployment', aliased, { deploymentId: id, secrets: [] })).toMatchObject({
    a: { latestRevision: { id: expect.any(String) } },
    b: { latestRevision: { number: 3 } },
  })
})

test('ten callers who change one listener, one OAuth provider or the tags of one deployment get their own change', async () => {
  const { id: listenerId } = await listener(app)
  const provider = 'shared'
  const urls = { auth_url: 'https://a.example.com/authorize', token_url: 'https://a.example.com/token' }
  const added = { provider_id: provider, name: 'Shared', client_id: 'x', ...urls }
  expect((await app.rest('POST', '/v2/auth/providers', { body: added })).status).toBe(200)
  const { id: deploymentId } = await gitDeployment(app)
  const names = numbers.slice(0, 10).map((n) => `mine-${n}`)
  const told = await Promise.all(
    names.map(async (name, n) => {
      if (n % 2)
        return [
          (await app.rest('PATCH', `/v2/listeners/${listenerId}`, { body: { version: name } })).body.version,
          (await app.rest('PATCH', `/v2/auth/providers/${provider}`, { body: { name } })).body.name,
          name,
        ]
      const tags = [{ key: 'owner', value: name }]
      return [
        (await mutate(app, 'updateListener', 'listener { version }', { listenerId, version: name })).listener.version,
        (await mutate(app, 'updateOAuthProvider', 'oauthProvider { name }', { providerId: provider, name }))
          .oauthProvider.name,
        (await mutate(app, 'setDeploymentTags', 'deployment { tags { value } }', { deploymentId, tags })).deployment
          .tags[0].value,
      ]
    }),
  )
  expect(told).toEqual(names.map((name) => [name, name, name]))
})
