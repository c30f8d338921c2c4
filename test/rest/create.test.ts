/**
 * POST /v2/deployments: docs/deployments.md#deployments and docs/deployments.md#secrets row by row, and the rules by
 * source.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodies, type RestApp, restApp, set, uniqueName, violations } from './support.ts'

let app: RestApp
beforeAll(async () => {
  app = await restApp()
})
afterAll(() => app.close())

const UUID = /^[0-9a-f-]{36}$/
const NOWHERE = '11111111-1111-1111-1111-111111111111'
const git = () => bodies.gitprovider(app.tenant.integrationId)
const post = (body: unknown, key?: string) => app.call('POST', '/v2/deployments', { body, key })

describe('A new deployment', () => {
  test('from git has every field with its defaults', async () => {
    const body = git()
    const created = await app.create(body)
    expect(created).toEqual({
      id: expect.stringMatching(UUID),
      tenant_id: app.tenant.workspaceId,
      name: body.name,
      source: 'gitprovider',
      source_config: {
        integration_id: app.tenant.integrationId,
        repo_url: 'https://git.example.com/acme/agent',
        deployment_type: 'dev',
        build_on_push: false,
        custom_url: null,
        resource_spec: null,
        listener_id: null,
        listener_config: null,
        install_command: null,
        build_command: null,
      },
      source_revision_config: {
        repo_ref: 'main',
        graph_config_path: 'graph.json',
        image_uri: null,
        source_tarball_path: null,
        repo_commit_sha: null,
      },
      secrets: [],
      secret_references: null,
      status: 'AWAITING_DATABASE',
      serving: false,
      status_message: 'Revision 1 is being prepared; nothing serves yet.',
      reason: 'IN_PROGRESS',
      reason_since: expect.any(String),
      why_not_live: 'Revision 1 is being prepared; nothing serves yet.',
      last_change: {
        at: created.updated_at,
        what: 'CREATED',
        actor: expect.objectContaining({ kind: 'api_key' }),
        changed: [],
        revision_id: null,
      },
      health: { ready: 0, desired: 1, message: expect.any(String), reason: 'IN_PROGRESS', observed_at: null },
      url: null,
      image_version: null,
      latest_revision_id: expect.stringMatching(UUID),
      active_revision_id: null,
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })
    expect((await app.call('GET', `/v2/deployments/${created.id}`)).body).toEqual(created)
    const revision = await app.call('GET', `/v2/deployments/${created.id}/revisions/${created.latest_revision_id}`)
    expect(revision.body).toMatchObject({ id: created.latest_revision_id, status: 'CREATING', attempt: 1 })
  })

  test('returns the given values', async () => {
    const body = set(git(), 'source_config', {
      integration_id: app.tenant.integrationId,
      repo_url: 'https://git.example.com/acme/agent',
      deployment_type: 'prod',
      build_on_push: true,
      install_command: 'npm ci',
      build_command: 'npm run build',
      resource_spec: { min_scale: 1, max_scale: 3 },
    })
    const created = await app.create({ ...body, secrets: [{ name: 'TOKEN', value: 'x' }] })
    expect(created.source_config).toMatchObject(body.source_config)
    expect(created.secrets).toEqual([{ name: 'TOKEN', value: 'x' }])
  })

  test('treats an empty command as none', async () => {
    const created = await app.create(set(git(), 'source_config.install_command', ''))
    expect(created.source_config.install_command).toBeNull()
  })

  test('from an image keeps custom_url and secret references', async () => {
    const references = [{ name: 'DB_PASSWORD', secret_name: 'database', secret_key: 'password' }]
    const body = { ...bodies.external_container(), source_config: { custom_url: 'https://agent.example.com/' } }
    const created = await app.create({ ...body, secret_references: references })
    expect(created.source_config.custom_url).toBe('https://agent.example.com/')
    expect(created.secret_references).toEqual(references)
  })

  test('of any source accepts an empty list of secret references', async () => {
    expect(await app.create({ ...git(), secret_references: [] })).toMatchObject({
      source: 'gitprovider',
    })
  })

  test('creates a tracing project of the same name, and reuses it after a deletion', async () => {
    const body = bodies.internal_container()
    const { id } = await app.create(body)
    const key = { workspaceId_name: { workspaceId: app.tenant.workspaceId, name: body.name } }
    const project = await app.core.db.tracingProject.findUniqueOrThrow({ where: key })
    await app.call('DELETE', `/v2/deployments/${id}`)
    await app.create(body)
    expect(await app.core.db.tracingProject.findUnique({ where: key })).toEqual(project)
  })

  test.each(['gitprovider', 'external_container', 'internal_container', 'internal_source'] as const)(
    'a %s deployment can be created with nothing but what is required',
    async (source) => {
      const created = await app.create(source === 'gitprovider' ? git() : bodies[source]())
      expect(created.source).toBe(source)
      const waiting = source === 'external_container' || source === 'internal_container' ? null : 'graph.json'
      expect(created.source_revision_config.graph_config_path).toBe(waiting)
    },
  )

  test('ignores unknown fields', async () => {
    const body = set({ ...git(), color: 'red', status: 'READY', id: NOWHERE }, 'source_config.shape', 'round')
    const created = await app.create(body)
    expect(created.id).not.toBe(NOWHERE)
    expect(created.status).toBe('AWAITING_DATABASE')
    expect(JSON.stringify(created)).not.toMatch(/"(red|round)"/)
  })

  test.each(['internal_source', 'internal_container'] as const)(
    'a deployment type has no effect on %s: it is taken, on create and PATCH, and answered as null',
    async (source) => {
      const created = await app.create(set(bodies[source](), 'source_config.deployment_type', 'prod'))
      expect(created.source_config.deployment_type).toBeNull()
      const body = { source_config: { deployment_type: 'dev' } }
      const patched = await app.call('PATCH', `/v2/deployments/${created.id}`, { body })
      expect([patched.status, patched.body]).toEqual([200, created])
    },
  )

  test('ignores a read-only commit in the request', async () => {
    const created = await app.create(set(git(), 'source_revision_config.repo_commit_sha', 'abc'))
    expect(created.source_revision_config.repo_commit_sha).toBeNull()
  })
})

describe('A 422 names the field:', () => {
  type Source = 'gitprovider' | 'external_container' | 'internal_container' | 'internal_source'
  const rows: [string, Source, string, unknown, string][] = [
    // docs/deployments.md#deployments
    ['a missing name', 'gitprovider', 'name', undefined, 'body.name missing'],
    ['an empty name', 'gitprovider', 'name', '', 'body.name string_too_short'],
    ['a name of 129 characters', 'gitprovider', 'name', 'n'.repeat(129), 'body.name string_too_long'],
    ['a name with a line break', 'gitprovider', 'name', 'a\nb', 'body.name string_pattern_mismatch'],
    ['a name that is a number', 'gitprovider', 'name', 7, 'body.name string_type'],
    ['a missing source', 'gitprovider', 'source', undefined, 'body.source missing'],
    ['an unknown source', 'gitprovider', 'source', 'ftp', 'body.source enum'],
    ['a missing source_config', 'external_container', 'source_config', undefined, 'body.source_config missing'],
    ['a source_config that is a list', 'external_container', 'source_config', [], 'body.source_config dict_type'],
    [
      'a missing source_revision_config',
      'internal_container',
      'source_revision_config',
      undefined,
      'body.source_revision_config missing',
    ],
    ['missing secrets', 'gitprovider', 'secrets', undefined, 'body.secrets missing'],
    ['secrets that are null', 'gitprovider', 'secrets', null, 'body.secrets list_type'],
    // docs/deployments.md#deployments
    [
      'no integration',
      'gitprovider',
      'source_config.integration_id',
      undefined,
      'body.source_config.integration_id missing',
    ],
    [
      'an integration that is no UUID',
      'gitprovider',
      'source_config.integration_id',
      'x',
      'body.source_config.integration_id uuid_parsing',
    ],
    ['no repository', 'gitprovider', 'source_config.repo_url', null, 'body.source_config.repo_url missing'],
    [
      'a repository with a token in its query string',
      'gitprovider',
      'source_config.repo_url',
      'https://git.example.com/acme/agent?access_token=hush',
      'body.source_config.repo_url value_error',
    ],
    [
      'an unknown deployment type',
      'gitprovider',
      'source_config.deployment_type',
      'huge',
      'body.source_config.deployment_type enum',
    ],
    [
      'build_on_push that is text',
      'gitprovider',
      'source_config.build_on_push',
      'yes',
      'body.source_config.build_on_push bool_type',
    ],
    [
      'an integration for an image',
      'external_container',
      'source_config.integration_id',
      'OWN',
      'body.source_config.integration_id value_error',
    ],
    [
      'a repository for an image',
      'external_container',
      'source_config.repo_url',
      'https://x.example',
      'body.source_config.repo_url value_error',
    ],
    [
      'a deployment type for an image from elsewhere',
      'external_container',
      'source_config.deployment_type',
      'dev',
      'body.source_config.deployment_type value_error',
    ],
    [
      'build_on_push for an image',
      'external_container',
      'source_config.build_on_push',
      false,
      'body.source_config.build_on_push value_error',
    ],
    [
      'custom_url for a git source',
      'gitprovider',
      'source_config.custom_url',
      'https://a.example',
      'body.source_config.custom_url value_error',
    ],
    [
      'a custom_url of another scheme',
      'external_container',
      'source_config.custom_url',
      'ftp://a.example',
      'body.source_config.custom_url string_pattern_mismatch',
    ],
    [
      'a listener that is no UUID',
      'external_container',
      'source_config.listener_id',
      'x',
      'body.source_config.listener_id uuid_parsing',
    ],
    [
      'a namespace for a git source',
      'gitprovider',
      'source_config.listener_config',
      { k8s_namespace: 'a' },
      'body.source_config.listener_config.k8s_namespace value_error',
    ],
    [
      'a namespace without a listener',
      'external_container',
      'source_config.listener_config',
      { k8s_namespace: 'a' },
      'body.source_config.listener_config.k8s_namespace value_error',
    ],
    [
      'an install command that is too long',
      'gitprovider',
      'source_config.install_command',
      'x'.repeat(4097),
      'body.source_config.install_command string_too_long',
    ],
    [
      'a build command that is a list',
      'gitprovider',
      'source_config.build_command',
      ['make'],
      'body.source_config.build_command string_type',
    ],
    [
      'a NUL in a build command',
      'gitprovider',
      'source_config.build_command',
      'a\0b',
      'body.source_config.build_command value_error',
    ],
    [
      'half a surrogate pair in a label',
      'gitprovider',
      'source_config.resource_spec',
      { labels: { a: '\ud800' } },
      'body.source_config.resource_spec.labels.a value_error',
    ],
    // docs/deployments.md#deployments
    [
      'no ref',
      'gitprovider',
      'source_revision_config.repo_ref',
      undefined,
      'body.source_revision_config.repo_ref missing',
    ],
    [
      'a branch by its full path',
      'gitprovider',
      'source_revision_config.repo_ref',
      'refs/heads/main',
      'body.source_revision_config.repo_ref value_error',
    ],
    [
      'a ref that would be an option',
      'gitprovider',
      'source_revision_config.repo_ref',
      '--upload-pack=x',
      'body.source_revision_config.repo_ref value_error',
    ],
    [
      'a ref for an image',
      'external_container',
      'source_revision_config.repo_ref',
      'main',
      'body.source_revision_config.repo_ref value_error',
    ],
    [
      'no graph configuration for git',
      'gitprovider',
      'source_revision_config.graph_config_path',
      null,
      'body.source_revision_config.graph_config_path missing',
    ],
    [
      'no graph configuration for a tarball',
      'internal_source',
      'source_revision_config.graph_config_path',
      undefined,
      'body.source_revision_config.graph_config_path missing',
    ],
    [
      'a graph configuration for an external image',
      'external_container',
      'source_revision_config.graph_config_path',
      'graph.json',
      'body.source_revision_config.graph_config_path value_error',
    ],
    [
      'a graph configuration for an internal image',
      'internal_container',
      'source_revision_config.graph_config_path',
      'graph.json',
      'body.source_revision_config.graph_config_path value_error',
    ],
    [
      'a graph configuration outside the repository',
      'gitprovider',
      'source_revision_config.graph_config_path',
      '../graph.json',
      'body.source_revision_config.graph_config_path value_error',
    ],
    [
      'no image',
      'external_container',
      'source_revision_config.image_uri',
      undefined,
      'body.source_revision_config.image_uri missing',
    ],
    [
      'an image for git',
      'gitprovider',
      'source_revision_config.image_uri',
      'a:1',
      'body.source_revision_config.image_uri value_error',
    ],
    [
      'an image for a tarball',
      'internal_source',
      'source_revision_config.image_uri',
      'a:1',
      'body.source_revision_config.image_uri value_error',
    ],
    [
      'an image with a scheme',
      'external_container',
      'source_revision_config.image_uri',
      'https://a/b:1',
      'body.source_revision_config.image_uri value_error',
    ],
    [
      'an arbitrary tarball path',
      'internal_source',
      'source_revision_config.source_tarball_path',
      'some/path',
      'body.source_revision_config.source_tarball_path value_error',
    ],
    // docs/deployments.md#secrets
    ['a secret without a value', 'gitprovider', 'secrets', [{ name: 'A' }], 'body.secrets.0.value missing'],
    [
      'a secret whose value is a number',
      'gitprovider',
      'secrets',
      [{ name: 'A', value: 1 }],
      'body.secrets.0.value string_type',
    ],
    ['a secret without a name', 'gitprovider', 'secrets', [{ value: 'x' }], 'body.secrets.0.name missing'],
    [
      'a secret that is no variable name',
      'gitprovider',
      'secrets',
      [{ name: '1A', value: 'x' }],
      'body.secrets.0.name value_error',
    ],
    [
      'two secrets of one name',
      'gitprovider',
      'secrets',
      [
        { name: 'A', value: '' },
        { name: 'A', value: '' },
      ],
      'body.secrets.1.name value_error',
    ],
    [
      'a name the server sets itself',
      'gitprovider',
      'secrets',
      [{ name: 'PORT', value: '1' }],
      'body.secrets.0.name value_error',
    ],
    [
      'a value over 64 KiB',
      'gitprovider',
      'secrets',
      [{ name: 'A', value: 'x'.repeat(65_537) }],
      'body.secrets.0.value value_error',
    ],
    [
      'the mask for a new secret',
      'gitprovider',
      'secrets',
      [{ name: 'A', value: '••••••••' }],
      'body.secrets.0.value value_error',
    ],
    [
      'references for git',
      'gitprovider',
      'secret_references',
      [{ name: 'A', secret_name: 'b', secret_key: 'c' }],
      'body.secret_references value_error',
    ],
    [
      'a reference without a key',
      'external_container',
      'secret_references',
      [{ name: 'A', secret_name: 'b' }],
      'body.secret_references.0.secret_key missing',
    ],
    [
      'a reference without a secret',
      'external_container',
      'secret_references',
      [{ name: 'A', secret_key: 'b' }],
      'body.secret_references.0.secret_name missing',
    ],
    [
      'a reference without a name',
      'external_container',
      'secret_references',
      [{ secret_name: 'a', secret_key: 'b' }],
      'body.secret_references.0.name missing',
    ],
  ]
  test.each(rows)('%s (%s)', async (_what, source, field, value, expected) => {
    const body = source === 'gitprovider' ? git() : bodies[source]()
    const answer = await post(set(body, field, value === 'OWN' ? app.tenant.integrationId : value))
    expect(violations(answer)).toEqual([expected])
  })

  test('a tag with build_on_push', async () => {
    const body = set(set(git(), 'source_revision_config.repo_ref', 'refs/tags/v1'), 'source_config.build_on_push', true)
    expect(violations(await post(body))).toEqual(['body.source_config.build_on_push value_error'])
    expect((await post(set(body, 'source_config.build_on_push', false))).status).toBe(201)
  })

  test('no body, a body that is a list, and one that is not JSON', async () => {
    expect(violations(await post(undefined))).toEqual(['body missing'])
    expect(violations(await post([]))).toEqual(['body dict_type'])
    expect(violations(await post('{"name": '))).toEqual(['body json_invalid'])
  })

  test('all violations of the shape are reported together', async () => {
    const body = { name: '', source: 'ftp', source_config: { integration_id: 'x' }, secrets: {} }
    expect(violations(await post(body))).toEqual([
      'body.name string_too_short',
      'body.secrets list_type',
      'body.source enum',
      'body.source_config.integration_id uuid_parsing',
      'body.source_revision_config missing',
    ])
  })

  test('a repository that does not exist yet is accepted, also a local one', async () => {
    for (const url of ['ssh://git@git.example.com/acme/agent', 'file:///nowhere/agent.git', '/nowhere/agent.git'])
      expect((await post(set(git(), 'source_config.repo_url', url))).status).toBe(201)
  })

  test('a password in the URL of a repository is refused, and not repeated', async () => {
    const answer = await post(set(git(), 'source_config.repo_url', 'https://me:hunter2@git.example.com/acme/agent'))
    expect(violations(answer)).toEqual(['body.source_config.repo_url value_error'])
    expect(answer.text).toContain('Must not contain a user name or password')
    expect(answer.text).not.toContain('hunter2')
  })

  test('all violations of the rules are reported together', async () => {
    const body = {
      ...bodies.external_container(),
      source_config: { repo_url: 'https://a.example', build_on_push: true },
    }
    expect(violations(await post({ ...body, source_revision_config: { repo_ref: 'main' } }))).toEqual([
      'body.source_config.build_on_push value_error',
      'body.source_config.repo_url value_error',
      'body.source_revision_config.image_uri missing',
      'body.source_revision_config.repo_ref value_error',
    ])
  })
})

describe('Creating', () => {
  test('needs a deployer; viewers get 403 before their body is checked', async () => {
    expect((await post(git(), app.keys.deployer)).status).toBe(201)
    const answer = await post({}, app.keys.viewer)
    expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN'])
  })

  test('with an unknown integration, or another tenant’s, is 404', async () => {
    for (const id of [NOWHERE, app.sibling.integrationId, app.other.integrationId]) {
      const answer = await post(bodies.gitprovider(id))
      expect([answer.status, answer.body.detail]).toEqual([404, `Integration ID ${id} not found.`])
    }
  })

  test('with an unknown listener is 404', async () => {
    const answer = await post(set(bodies.external_container(), 'source_config.listener_id', NOWHERE))
    expect([answer.status, answer.body.detail]).toEqual([404, `Listener ID ${NOWHERE} not found.`])
  })

  test('with the name of an existing deployment is 409', async () => {
    const body = bodies.internal_container()
    await app.create(body)
    const answer = await post(body)
    expect([answer.status, answer.body.code]).toEqual([409, 'ALREADY_EXISTS'])
    expect(answer.body.detail).toContain(body.name)
  })

  test('with the same name works in another workspace', async () => {
    const body = bodies.internal_container()
    await app.create(body)
    await app.create(body, { key: app.sibling.keys.admin })
  })

  test('with a name works immediately after the deletion of its deployment', async () => {
    const body = bodies.internal_container()
    const { id } = await app.create(body)
    await app.call('DELETE', `/v2/deployments/${id}`)
    await app.create(body)
  })

  test('of one name twice concurrently gives one 201 and one 409', async () => {
    const body = { ...bodies.internal_container(), name: uniqueName('race') }
    const answers = await Promise.all([post(body), post(body)])
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409])
  })
})
