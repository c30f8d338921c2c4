/**
 * PATCH /v2/deployments/{id} and POST …/revisions: merging, what creates a revision
 * (docs/deployments.md#revisions-and-rollouts), and immutable fields.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodies, type RestApp, restApp, set, violations } from './support.ts'

let app: RestApp
beforeAll(async () => {
  app = await restApp()
})
afterAll(() => app.close())

const NOWHERE = '11111111-1111-1111-1111-111111111111'
const git = () => app.create(bodies.gitprovider(app.tenant.integrationId))
const image = () => app.create(bodies.external_container())
const patch = (id: string, body: unknown, key?: string) => app.call('PATCH', `/v2/deployments/${id}`, { body, key })
const revise = (id: string, body: unknown, key?: string) =>
  app.call('POST', `/v2/deployments/${id}/revisions`, { body, key })

test('why a deployment is not live, and who made the request, is equal in the answer of a PATCH, a GET and the list', async () => {
  const { id, latest_revision_id: first } = await image()
  const { db } = app.core
  await db.step.deleteMany({ where: { deploymentId: id } })
  await db.revision.update({ where: { id: first }, data: { status: 'DEPLOYED', statusMessage: null, reason: null } })
  const now = { claimId: NOWHERE, leaseHolder: 'worker', leaseExpiresAt: new Date(Date.now() + 3_600_000) }
  const health = { ready: 1, desired: 1, message: null, observedAt: new Date().toISOString() }
  const serving = { activeRevisionId: first, provisionedAt: new Date(), health, ...now }
  await db.deployment.update({ where: { id }, data: serving })
  const get = async () => (await app.call('GET', `/v2/deployments/${id}`)).body
  expect(await get()).toMatchObject({ serving: true, why_not_live: null, last_change: { what: 'CREATED' } })

  const patched = await patch(id, { source_revision_config: { image_uri: 'a/b:2' } })
  expect(patched.body).toMatchObject({
    why_not_live: expect.stringMatching(/^(Revision 2 .*; revision 1 serves|Waiting for .*)\.$/),
    last_change: { at: patched.body.updated_at, what: 'UPDATED', changed: ['image_uri'], actor: { kind: 'api_key' } },
  })
  expect(await get()).toEqual(patched.body)
  const { resources } = (await app.call('GET', '/v2/deployments')).body
  expect(resources.find((one: { id: string }) => one.id === id)).toEqual(patched.body)

  await app.call('POST', `/v2/deployments/${id}/revisions/${first}/redeploy`)
  expect(await get()).toMatchObject({ last_change: { what: 'REDEPLOYED', changed: [], revision_id: first } })
})

describe('A change creates a revision or not:', () => {
  test.each([
    ['repo_ref', 'gitprovider', { source_revision_config: { repo_ref: 'next' } }, true],
    ['the repo_ref it has already', 'gitprovider', { source_revision_config: { repo_ref: 'main' } }, true],
    ['graph_config_path', 'gitprovider', { source_revision_config: { graph_config_path: 'a/graph.json' } }, true],
    ['image_uri', 'external_container', { source_revision_config: { image_uri: 'a/b:2' } }, true],
    [
      'image_uri of an internal container',
      'internal_container',
      { source_revision_config: { image_uri: 'a/b:2' } },
      true,
    ],
    ['secrets', 'gitprovider', { secrets: [{ name: 'A', value: 'b' }] }, true],
    ['an empty set of secrets', 'gitprovider', { secrets: [] }, true],
    ['nothing', 'gitprovider', {}, false],
    [
      'nulls',
      'gitprovider',
      { source_config: null, source_revision_config: null, secrets: null, secret_references: null },
      false,
    ],
    [
      'null triggers',
      'gitprovider',
      {
        source_revision_config: { repo_ref: null, graph_config_path: null, image_uri: null, source_tarball_path: null },
      },
      false,
    ],
    ['a commit, which is read-only', 'gitprovider', { source_revision_config: { repo_commit_sha: 'abc' } }, false],
    ['resource_spec', 'gitprovider', { source_config: { resource_spec: { cpu: 1 } } }, false],
    ['build_on_push', 'gitprovider', { source_config: { build_on_push: true } }, false],
    ['install_command', 'gitprovider', { source_config: { install_command: 'npm ci' } }, false],
    ['build_command', 'gitprovider', { source_config: { build_command: 'make' } }, false],
    ['custom_url', 'external_container', { source_config: { custom_url: 'https://a.example' } }, false],
    [
      'secret_references',
      'external_container',
      { secret_references: [{ name: 'A', secret_name: 'b', secret_key: 'c' }] },
      false,
    ],
  ] as const)('%s (%s)', async (_what, source, body, makes) => {
    const before = await app.create(
      source === 'gitprovider' ? bodies.gitprovider(app.tenant.integrationId) : bodies[source](),
    )
    const answer = await patch(before.id, body)
    expect(answer.status).toBe(200)
    expect(answer.body.latest_revision_id !== before.latest_revision_id).toBe(makes)
    const list = await app.call('GET', `/v2/deployments/${before.id}/revisions`)
    expect(list.body.resources).toHaveLength(makes ? 2 : 1)
    expect(list.body.resources[0].id).toBe(answer.body.latest_revision_id)
  })

  test('POST …/revisions creates one for any body, and returns it', async () => {
    const deployment = await git()
    const answer = await revise(deployment.id, {})
    expect(answer.status).toBe(201)
    expect(answer.body).toMatchObject({ deployment_id: deployment.id, attempt: 1, source: 'gitprovider' })
    expect(answer.body.source_revision_config).toEqual(deployment.source_revision_config)
    const now = (await app.call('GET', `/v2/deployments/${deployment.id}`)).body
    expect(now.latest_revision_id).toBe(answer.body.id)
    const named = await revise(deployment.id, { source_revision_config: { repo_ref: 'next' } })
    expect(named.body.source_revision_config.repo_ref).toBe('next')
  })
})

describe('A PATCH', () => {
  test('keeps absent members', async () => {
    const before = await app.create(
      set(bodies.gitprovider(app.tenant.integrationId), 'source_config.install_command', 'npm ci'),
    )
    const { body } = await patch(before.id, { source_revision_config: { repo_ref: 'next' } })
    expect(body).toEqual({
      ...before,
      source_revision_config: { ...before.source_revision_config, repo_ref: 'next' },
      latest_revision_id: body.latest_revision_id,
      // ignoring the cause of a wait, which names another revision
      health: body.health,
      status_message: body.status_message,
      reason_since: body.reason_since,
      why_not_live: body.why_not_live,
      last_change: { ...before.last_change, at: body.updated_at, what: 'UPDATED', changed: ['repo_ref'] },
      updated_at: body.updated_at,
    })
    expect(body.updated_at > before.updated_at).toBe(true)
  })

  test('removes a command with an empty text, which is no change if there is none', async () => {
    const before = await app.create(
      set(bodies.gitprovider(app.tenant.integrationId), 'source_config.install_command', 'npm ci'),
    )
    const { body } = await patch(before.id, { source_config: { install_command: '', build_command: '' } })
    expect(body.source_config).toEqual({ ...before.source_config, install_command: null })
    expect(body.latest_revision_id).toBe(before.latest_revision_id)
    expect((await patch(before.id, { source_config: { install_command: '' } })).body).toEqual(body)
    // later revisions have none either
    const next = await patch(before.id, { source_revision_config: { repo_ref: 'next' } })
    const where = { id: next.body.latest_revision_id }
    expect((await app.app.core.db.revision.findUniqueOrThrow({ where })).installCommand).toBeNull()
  })

  test('with stored values is no change: neither updated_at nor the events show it', async () => {
    const said = { install_command: 'npm ci', resource_spec: { cpu: 1, memory_mb: 512 } }
    const before = await git()
    const changed = (await patch(before.id, { source_config: said })).body
    const events = () => app.app.core.db.event.count({ where: { deploymentId: before.id } })
    const told = await events()
    for (const body of [
      {},
      { name: before.name },
      { source_config: { ...said, resource_spec: { memory_mb: 512, cpu: 1 } } },
    ])
      expect((await patch(before.id, body)).body).toEqual(changed)
    expect(await events()).toBe(told)
    expect((await patch(before.id, { source_config: { resource_spec: { cpu: 2 } } })).body).not.toEqual(changed)
    expect(await events()).toBe(told + 1)
  })

  test('of resource_spec replaces the whole spec', async () => {
    const { id } = await git()
    await patch(id, { source_config: { resource_spec: { cpu: 1, memory_mb: 512 } } })
    const { body } = await patch(id, { source_config: { resource_spec: { cpu: 2 } } })
    expect(body.source_config.resource_spec).toEqual({ cpu: 2 })
  })

  test('of secrets replaces the whole set, and [] empties it', async () => {
    const { id } = await git()
    await patch(id, {
      secrets: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
    })
    expect((await patch(id, { secrets: [{ name: 'C', value: '3' }] })).body.secrets).toEqual([
      { name: 'C', value: '3' },
    ])
    expect((await patch(id, { secrets: [] })).body.secrets).toEqual([])
  })

  test('of secret_references replaces the whole list, and [] empties it', async () => {
    const { id } = await image()
    const reference = { name: 'A', secret_name: 'b', secret_key: 'c' }
    expect((await patch(id, { secret_references: [reference] })).body.secret_references).toEqual([reference])
    expect((await patch(id, { secret_references: [] })).body.secret_references).toEqual([])
  })

  test('ignores unknown fields', async () => {
    const before = await git()
    const { status, body } = await patch(before.id, { color: 'red', tenant_id: NOWHERE })
    expect([status, body.tenant_id]).toEqual([200, before.tenant_id])
  })

  test.each(['gitprovider', 'external_container', 'internal_container', 'internal_source'] as const)(
    'what any role was answered can be sent back as it is, by whoever may write (%s)',
    async (source) => {
      const body = source === 'gitprovider' ? bodies.gitprovider(app.tenant.integrationId) : bodies[source]()
      const secrets = [{ name: 'TOKEN', value: 'of old' }]
      const { id } = await app.create(set({ ...body, secrets }, 'source_config.resource_spec', { cpu: 1.25 }))
      // as the data plane and a finished build leave it
      const running = source === 'external_container' ? {} : { customUrl: 'http://127.0.0.1:3100' }
      await app.core.db.deployment.update({ where: { id }, data: { ...running, imageVersion: '1.2.3' } })
      await app.core.db.revision.updateMany({ where: { deploymentId: id }, data: { repoCommitSha: 'a'.repeat(40) } })
      for (const key of [app.keys.admin, app.keys.deployer]) {
        const before = (await app.call('GET', `/v2/deployments/${id}`, { key })).body
        const answer = await patch(id, before, key)
        expect(answer.status, answer.text).toBe(200)
        expect(answer.body.source_config).toEqual(before.source_config)
        expect((await app.call('GET', `/v2/deployments/${id}`)).body.secrets).toEqual(secrets)
      }
    },
  )
})

describe('A PATCH can’t change', () => {
  test.each([
    ['name', { name: 'other' }, 'body.name value_error'],
    ['source', { source: 'external_container' }, 'body.source value_error'],
    ['integration_id', { source_config: { integration_id: NOWHERE } }, 'body.source_config.integration_id value_error'],
    ['repo_url', { source_config: { repo_url: 'https://b.example' } }, 'body.source_config.repo_url value_error'],
    [
      'deployment_type',
      { source_config: { deployment_type: 'prod' } },
      'body.source_config.deployment_type value_error',
    ],
  ])('%s: another value is 422, the stored one passes', async (_field, body, expected) => {
    const { id } = await git()
    expect(violations(await patch(id, body))).toContain(expected)
  })

  test.each(['gitprovider', 'internal_container'] as const)(
    'custom_url of %s is refused with the words of create, before and after its first deploy',
    async (source) => {
      const body = source === 'gitprovider' ? bodies.gitprovider(app.tenant.integrationId) : bodies[source]()
      const { id } = await app.create(body)
      const url = { source_config: { custom_url: 'https://a.example' } }
      const refused = [
        {
          loc: ['body', 'source_config', 'custom_url'],
          msg: `Only for external_container sources; this deployment's source is ${source}.`,
          type: 'value_error',
        },
      ]
      expect(
        (
          await app.call('POST', '/v2/deployments', {
            body: { ...body, source_config: { ...body.source_config, ...url.source_config } },
          })
        ).body.detail,
      ).toEqual(refused)
      expect((await patch(id, url)).body.detail).toEqual(refused)
      await app.core.db.deployment.update({ where: { id }, data: { customUrl: 'http://127.0.0.1:3100' } })
      expect((await patch(id, url)).body.detail).toEqual(refused)
    },
  )

  test('custom_url of a git source, listener_id and k8s_namespace', async () => {
    const { id } = await git()
    const url = { source_config: { custom_url: 'https://a.example' } }
    expect(violations(await patch(id, url))).toContain('body.source_config.custom_url value_error')
    const other = await image()
    const listener = { source_config: { listener_id: NOWHERE } }
    expect(violations(await patch(other.id, listener))).toContain('body.source_config.listener_id value_error')
    const namespace = { source_config: { listener_config: { k8s_namespace: 'a' } } }
    expect(violations(await patch(other.id, namespace))).toContain(
      'body.source_config.listener_config.k8s_namespace value_error',
    )
  })

  test('build_on_push to true for a tag, or the ref to a tag with build_on_push', async () => {
    const { id } = await git()
    const tag = { source_revision_config: { repo_ref: 'refs/tags/v1' } }
    const push = { source_config: { build_on_push: true } }
    await patch(id, push)
    expect(violations(await patch(id, tag))).toEqual(['body.source_config.build_on_push value_error'])
    expect((await patch(id, { ...tag, source_config: { build_on_push: false } })).status).toBe(200)
    expect(violations(await patch(id, push))).toEqual(['body.source_config.build_on_push value_error'])
  })

  test.each([
    [
      'an image for git',
      { source_revision_config: { image_uri: 'a:1' } },
      'body.source_revision_config.image_uri value_error',
    ],
    [
      'an arbitrary tarball',
      { source_revision_config: { source_tarball_path: 'a' } },
      'body.source_revision_config.source_tarball_path value_error',
    ],
    [
      'references for git',
      { secret_references: [{ name: 'A', secret_name: 'b', secret_key: 'c' }] },
      'body.secret_references value_error',
    ],
    [
      'a bad bound',
      { source_config: { resource_spec: { cpu: 9 } } },
      'body.source_config.resource_spec.cpu less_than_equal',
    ],
    ['a secret without value', { secrets: [{ name: 'A' }] }, 'body.secrets.0.value missing'],
  ])('%s is 422 for both calls and creates no revision', async (_what, body, expected) => {
    const { id } = await git()
    expect(violations(await patch(id, body))).toContain(expected)
    expect(violations(await revise(id, body))).toContain(expected)
    expect((await app.call('GET', `/v2/deployments/${id}/revisions`)).body.resources).toHaveLength(1)
  })
})

describe('A write is refused', () => {
  test('for a viewer with 403 by both calls', async () => {
    const { id } = await git()
    expect((await patch(id, {}, app.keys.viewer)).status).toBe(403)
    expect((await revise(id, {}, app.keys.viewer)).status).toBe(403)
    expect((await patch(id, {}, app.keys.deployer)).status).toBe(200)
  })

  test('for an unknown id with 404, for an invalid one with 422', async () => {
    for (const write of [patch, revise]) {
      const answer = await write(NOWHERE, {})
      expect([answer.status, answer.body.detail]).toEqual([404, `Deployment ID ${NOWHERE} not found.`])
      expect(violations(await write('nope', {}))).toEqual(['path.deployment_id uuid_parsing'])
      expect(violations(await write('nope', { secrets: 1 }))).toEqual([
        'body.secrets list_type',
        'path.deployment_id uuid_parsing',
      ])
    }
  })

  test('for a deployment that is being deleted with 409', async () => {
    const { id } = await git()
    // begun, so that there is something to tear down
    await app.core.db.step.updateMany({ where: { deploymentId: id }, data: { firstTakenAt: new Date() } })
    await app.call('DELETE', `/v2/deployments/${id}`)
    for (const write of [patch, revise]) {
      const answer = await write(id, {})
      expect([answer.status, answer.body.code]).toEqual([409, 'CONFLICT'])
    }
  })
})
