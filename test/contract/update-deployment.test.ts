/**
 * Changes of a deployment and new revisions: merging, what creates a revision
 * (docs/deployments.md#revisions-and-rollouts), and immutable fields.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { bodies, NOWHERE, set, uniqueName, useRestApp, violations } from '../rest/support.ts'
import { type How, overBoth } from './api.ts'

const app = useRestApp()

const SOURCES = ['gitprovider', 'external_container', 'internal_container', 'internal_source'] as const
const bodyOf = (source: (typeof SOURCES)[number]) =>
  source === 'gitprovider' ? bodies.gitprovider(app.tenant.integrationId) : bodies[source]()
const git = (more: object = {}) => app.create({ ...bodies.gitprovider(app.tenant.integrationId), ...more })
const image = () => app.create(bodies.external_container())
const withCommand = () => app.create(set(bodyOf('gitprovider'), 'source_config.install_command', 'npm ci'))
const revisionsOf = (deploymentId: string) => app.core.db.revision.count({ where: { deploymentId } })
const REFERENCE = { name: 'A', secret_name: 'b', secret_key: 'c' }

overBoth(app, (api) => {
  const update = (deployment_id: string, changes: object, how?: How) =>
    api.get('updateDeployment', { deployment_id, ...changes }, how)
  const get = (deployment_id: string) => api.get('getDeployment', { deployment_id })

  test('why a deployment is not live, and who made the request, is equal in the answer of a change, a read and the list', async () => {
    const { id, latest_revision_id: first } = await image()
    const { db } = app.core
    await db.step.deleteMany({ where: { deploymentId: id } })
    await db.revision.update({ where: { id: first }, data: { status: 'DEPLOYED', statusMessage: null, reason: null } })
    const now = { claimId: randomUUID(), leaseHolder: 'worker', leaseExpiresAt: new Date(Date.now() + 3_600_000) }
    const health = { ready: 1, desired: 1, message: null, observedAt: new Date().toISOString() }
    const serving = { activeRevisionId: first, provisionedAt: new Date(), health, ...now }
    await db.deployment.update({ where: { id }, data: serving })
    expect(await get(id)).toMatchObject({ serving: true, why_not_live: null, last_change: { what: 'CREATED' } })

    const changed = await update(id, { source_revision_config: { image_uri: 'a/b:2' } })
    expect(changed).toMatchObject({
      why_not_live: expect.stringMatching(/^(Revision 2 .*; revision 1 serves|Waiting for .*)\.$/),
      last_change: { at: changed.updated_at, what: 'UPDATED', actor: { kind: 'api_key' } },
    })
    expect(changed.last_change.changed).toEqual([api.over === 'REST' ? 'image_uri' : 'imageUri'])
    expect(await get(id)).toEqual(changed)
    const listed = await api.get('listDeployments')
    expect(changed).toMatchObject(listed.find((one: { id: string }) => one.id === id))

    await api.get('redeployRevision', { deployment_id: id, revision_id: first })
    expect(await get(id)).toMatchObject({ last_change: { what: 'REDEPLOYED', changed: [], revision_id: first } })
  })

  test('idle_minutes are 1 to 10,080, and 0 in a change returns to the default', async () => {
    const { id } = await git({ idle_minutes: 30 })
    expect(await get(id)).toMatchObject({ idle_minutes: 30 })
    for (const unchanged of [undefined, null, 30])
      expect(await update(id, { idle_minutes: unchanged })).toMatchObject({
        idle_minutes: 30,
        last_change: { what: 'CREATED' },
      })
    expect(await update(id, { idle_minutes: 10_080 })).toMatchObject({ idle_minutes: 10_080 })
    expect(await update(id, { idle_minutes: 0 })).toMatchObject({
      idle_minutes: null,
      last_change: { what: 'UPDATED' },
    })
    for (const wrong of [-1, 1.5, 10_081])
      expect((await api.call('updateDeployment', { deployment_id: id, idle_minutes: wrong })).ok).toBe(false)
    const created = await api.call('createDeployment', { ...bodyOf('gitprovider'), idle_minutes: 0 })
    expect(created.ok).toBe(false)
  })

  describe('a change creates a revision or not:', () => {
    const revision = (members: object) => ({ source_revision_config: members })
    const config = (members: object) => ({ source_config: members })
    test.each([
      ['repo_ref', 'gitprovider', revision({ repo_ref: 'next' }), true],
      ['the repo_ref it has already', 'gitprovider', revision({ repo_ref: 'main' }), true],
      ['graph_config_path', 'gitprovider', revision({ graph_config_path: 'a/graph.json' }), true],
      ['image_uri', 'external_container', revision({ image_uri: 'a/b:2' }), true],
      ['image_uri of an internal container', 'internal_container', revision({ image_uri: 'a/b:2' }), true],
      ['secrets', 'gitprovider', { secrets: [{ name: 'A', value: 'b' }] }, true],
      ['an empty set of secrets', 'gitprovider', { secrets: [] }, true],
      ['nothing', 'gitprovider', {}, false],
      [
        ...(['nulls', 'gitprovider'] as const),
        { source_config: null, source_revision_config: null, secrets: null, secret_references: null },
        false,
      ],
      [
        ...(['null triggers', 'gitprovider'] as const),
        revision({ repo_ref: null, graph_config_path: null, image_uri: null, source_tarball_path: null }),
        false,
      ],
      ['resource_spec', 'gitprovider', config({ resource_spec: { cpu: 1 } }), false],
      ['build_on_push', 'gitprovider', config({ build_on_push: true }), false],
      ['install_command', 'gitprovider', config({ install_command: 'npm ci' }), false],
      ['build_command', 'gitprovider', config({ build_command: 'make' }), false],
      ['custom_url', 'external_container', config({ custom_url: `https://${uniqueName()}.example` }), false],
      ['secret_references', 'external_container', { secret_references: [REFERENCE] }, false],
    ] as const)('%s (%s)', async (_what, source, changes, makes) => {
      const { id, latest_revision_id: before } = await app.create(bodyOf(source))
      const { value, revision } = await api.call('updateDeployment', { deployment_id: id, ...changes })
      expect(value.latest_revision_id !== before).toBe(makes)
      expect(revision).toBe(makes ? value.latest_revision_id : null)
      const all = await api.get('listRevisions', { deployment_id: id })
      expect(all).toHaveLength(makes ? 2 : 1)
      expect(all[0].id).toBe(value.latest_revision_id)
    })

    test('createRevision always creates one, and returns it', async () => {
      const { id: deployment_id, source_revision_config } = await git()
      const made = await api.get('createRevision', { deployment_id })
      expect(made).toMatchObject({ deployment_id, attempt: 1, source: 'gitprovider', source_revision_config })
      expect((await get(deployment_id)).latest_revision_id).toBe(made.id)
      const named = await api.get('createRevision', { deployment_id, source_revision_config: { repo_ref: 'next' } })
      expect(named.source_revision_config.repo_ref).toBe('next')
    })
  })

  describe('a change', () => {
    test('keeps absent members', async () => {
      const { id } = await withCommand()
      const before = await get(id)
      const after = await update(id, { source_revision_config: { repo_ref: 'next' } })
      const { latest_revision_id, health, status_message, reason_since, why_not_live, updated_at } = after
      expect(after).toEqual({
        ...before,
        source_revision_config: { ...before.source_revision_config, repo_ref: 'next' },
        latest_revision_id,
        // ignoring the cause of a wait, which names another revision
        ...{ health, status_message, reason_since, why_not_live },
        last_change: { ...before.last_change, at: updated_at, what: 'UPDATED', changed: after.last_change.changed },
        updated_at,
      })
      expect(updated_at > before.updated_at).toBe(true)
    })

    test('removes a command with an empty text, which is no change if there is none', async () => {
      const before = await withCommand()
      const after = await update(before.id, { source_config: { install_command: '', build_command: '' } })
      expect(after.source_config).toEqual({ ...before.source_config, install_command: null })
      expect(after.latest_revision_id).toBe(before.latest_revision_id)
      expect(await update(before.id, { source_config: { install_command: '' } })).toEqual(after)
      // later revisions have none either
      const next = await update(before.id, { source_revision_config: { repo_ref: 'next' } })
      const where = { id: next.latest_revision_id }
      expect((await app.core.db.revision.findUniqueOrThrow({ where })).installCommand).toBeNull()
    })

    test('with stored values is no change: neither updated_at nor the events show it', async () => {
      const said = { install_command: 'npm ci', resource_spec: { cpu: 1, memory_mb: 512 } }
      const { id, name } = await git()
      const changed = await update(id, { source_config: said })
      const { repo_url, integration_id } = changed.source_config
      const events = () => app.core.db.event.count({ where: { deploymentId: id } })
      const told = await events()
      for (const same of [
        {},
        { name, source_config: { repo_url, integration_id } },
        { source_config: { ...said, resource_spec: { memory_mb: 512, cpu: 1 } } },
      ])
        expect(await update(id, same)).toEqual(changed)
      expect(await events()).toBe(told)
      expect(await update(id, { source_config: { resource_spec: { cpu: 2 } } })).not.toEqual(changed)
      expect(await events()).toBe(told + 1)
    })

    test('of a resource spec, secrets or references replaces the whole, and [] empties a list', async () => {
      const { id } = await image()
      await update(id, { source_config: { resource_spec: { cpu: 1, memory_mb: 512 } } })
      const { source_config } = await update(id, { source_config: { resource_spec: { cpu: 2 } } })
      expect(source_config.resource_spec).toEqual({ cpu: 2 })
      for (const names of [['A', 'B'], ['C'], []]) {
        const secrets = names.map((name) => ({ name, value: name }))
        expect((await update(id, { secrets })).secrets).toEqual(secrets)
      }
      for (const secret_references of [[REFERENCE], []])
        expect((await update(id, { secret_references })).secret_references).toEqual(secret_references)
    })
  })

  describe('a change is refused', () => {
    test('for name, source, repository and size of a git source', async () => {
      const { id } = await git()
      const source_config = {
        integration_id: NOWHERE,
        repo_url: 'https://b.example',
        deployment_type: 'prod',
        custom_url: 'https://x.example',
      }
      const changes = { name: 'other', source: 'external_container', source_config }
      await api.refuses('updateDeployment', { deployment_id: id, ...changes }, [
        ...['name value_error', 'source value_error'],
        ...Object.keys(source_config).map((field) => `source_config.${field} value_error`),
      ])
    })

    test.each(['gitprovider', 'internal_container'] as const)(
      'for custom_url of %s with the words of create, before and after its first deploy',
      async (source) => {
        const body = bodyOf(source)
        const { id } = await app.create(body)
        const message = `Only for external_container sources; this deployment's source is ${source}.`
        const custom_url = 'https://a.example'
        const refused = (verb: 'createDeployment' | 'updateDeployment', input: object) =>
          api.refuses(verb, { ...input }, ['source_config.custom_url value_error'])
        const change = () => refused('updateDeployment', { deployment_id: id, source_config: { custom_url } })
        const source_config = { ...body.source_config, custom_url }
        expect((await refused('createDeployment', { ...body, source_config })).message).toBe(message)
        expect((await change()).message).toBe(message)
        await app.core.db.deployment.update({ where: { id }, data: { customUrl: 'http://127.0.0.1:3100' } })
        expect((await change()).message).toBe(message)
      },
    )

    test.each([
      ['listener_id', { listener_id: NOWHERE }, 'listener_id'],
      ['k8s_namespace', { listener_config: { k8s_namespace: 'a' } }, 'listener_config.k8s_namespace'],
    ])('for %s of an image', async (_field, source_config, at) => {
      const { id } = await image()
      const { issues } = await api.fails('updateDeployment', { deployment_id: id, source_config }, 'VALIDATION_FAILED')
      expect(issues).toContain(`source_config.${at} value_error`)
    })

    test('for build_on_push of a tag, and for a tag with build_on_push', async () => {
      const { id: deployment_id } = await git()
      const tag = { source_revision_config: { repo_ref: 'refs/tags/v1' } }
      const push = { source_config: { build_on_push: true } }
      const refused = (changes: object) =>
        api.refuses('updateDeployment', { deployment_id, ...changes }, ['source_config.build_on_push value_error'])
      await update(deployment_id, push)
      await refused(tag)
      await update(deployment_id, { ...tag, source_config: { build_on_push: false } })
      await refused(push)
    })

    test.each([
      ['an image for git', { source_revision_config: { image_uri: 'a:1' } }, 'source_revision_config.image_uri'],
      [
        ...(['an arbitrary tarball', { source_revision_config: { source_tarball_path: 'a' } }] as const),
        'source_revision_config.source_tarball_path',
      ],
      ['references for git', { secret_references: [REFERENCE] }, 'secret_references'],
      ['a bad name of a secret', { secrets: [{ name: '1', value: '' }] }, 'secrets.0.name'],
      ['the mask of an unknown secret', { secrets: [{ name: 'A', value: '••••••••' }] }, 'secrets.0.value'],
    ])('for %s, like a new revision, and creates none', async (_what, changes, at) => {
      const { id } = await git()
      for (const verb of ['updateDeployment', 'createRevision'] as const)
        expect((await api.fails(verb, { deployment_id: id, ...changes }, 'VALIDATION_FAILED')).issues).toContain(
          `${at} value_error`,
        )
      expect(await revisionsOf(id)).toBe(1)
    })
  })

  describe.each(['updateDeployment', 'createRevision'] as const)('%s is refused', (verb) => {
    test('to a viewer, for an unknown, an invalid or another tenant’s id', async () => {
      const { id } = await git()
      await api.fails(verb, { deployment_id: id }, 'FORBIDDEN', { key: app.keys.viewer })
      expect((await api.call(verb, { deployment_id: id }, { key: app.keys.deployer })).ok).toBe(true)
      for (const [deployment_id, key] of [
        [NOWHERE, app.keys.admin],
        [id, app.sibling.keys.admin],
        [id, app.other.keys.admin],
      ] as const)
        expect((await api.fails(verb, { deployment_id }, 'NOT_FOUND', { key })).message).toBe(
          `Deployment ID ${deployment_id} not found.`,
        )
      await api.refuses(verb, { deployment_id: 'nope', source_config: { resource_spec: { cpu: 9 } } }, [
        'deployment_id uuid_parsing',
        'source_config.resource_spec.cpu less_than_equal',
      ])
    })

    test('for a deployment that is being deleted', async () => {
      const { id } = await git()
      // begun, so that there is something to tear down
      await app.core.db.step.updateMany({ where: { deploymentId: id }, data: { firstTakenAt: new Date() } })
      await api.get('deleteDeployment', { deployment_id: id })
      await api.fails(verb, { deployment_id: id }, 'CONFLICT')
    })
  })
})

describe('over REST', () => {
  const patch = (id: string, body: unknown, key?: string) => app.call('PATCH', `/v2/deployments/${id}`, { body, key })

  test('a change ignores unknown members, and the commit, which is read-only', async () => {
    const before = await git()
    const { status, body } = await patch(before.id, {
      ...{ color: 'red', tenant_id: NOWHERE },
      source_revision_config: { repo_commit_sha: 'abc' },
    })
    expect([status, body.tenant_id]).toEqual([200, before.tenant_id])
    expect(await revisionsOf(before.id)).toBe(1)
  })

  test('values of the wrong type are named, together with the path', async () => {
    expect(violations(await patch('nope', { secrets: 1 }))).toEqual([
      'body.secrets list_type',
      'path.deployment_id uuid_parsing',
    ])
    const { id } = await git()
    expect(violations(await patch(id, { secrets: [{ name: 'A' }] }))).toEqual(['body.secrets.0.value missing'])
  })

  test.each(SOURCES)(
    'what any role was answered can be sent back as it is, by whoever may write (%s)',
    async (source) => {
      const secrets = [{ name: 'TOKEN', value: 'of old' }]
      const spec = set({ ...bodyOf(source), secrets }, 'source_config.resource_spec', { cpu: 1.25 })
      const { id } = await app.create(spec)
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
