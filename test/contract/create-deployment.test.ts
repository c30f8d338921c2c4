/** New deployments: docs/deployments.md#deployments and docs/deployments.md#secrets row by row, and the rules by source. */
import { describe, expect, test } from 'vitest'
import { bodies, NOWHERE, set, uniqueName, useRestApp, violations } from '../rest/support.ts'
import { bothOf, type How, overBoth } from './api.ts'

const app = useRestApp()

const UUID = /^[0-9a-f-]{36}$/
const SOURCES = ['gitprovider', 'external_container', 'internal_container', 'internal_source'] as const
type Source = (typeof SOURCES)[number]
const bodyOf = (source: Source) =>
  source === 'gitprovider' ? bodies.gitprovider(app.tenant.integrationId) : bodies[source]()
const git = (): ReturnType<typeof bodies.gitprovider> => bodies.gitprovider(app.tenant.integrationId)
const [GIT, IMAGE, INTERNAL, TARBALL] = SOURCES

/** What is wrong, of which source, in which field, its value, and the violation; its place, if it isn't the field. */
const WRONG: [string, Source, string, unknown, string, string?][] = [
  ['a missing name', GIT, 'name', undefined, 'missing'],
  ['an empty name', GIT, 'name', '', 'string_too_short'],
  ['a name of 129 characters', GIT, 'name', 'n'.repeat(129), 'string_too_long'],
  ['a name with a line break', GIT, 'name', 'a\nb', 'string_pattern_mismatch'],
  ['a name that is a number', GIT, 'name', 7, 'string_type'],
  ['a missing source', GIT, 'source', undefined, 'missing'],
  ['an unknown source', GIT, 'source', 'ftp', 'enum'],
  ['a missing source_config', IMAGE, 'source_config', undefined, 'missing'],
  ['a source_config that is a list', IMAGE, 'source_config', [], 'dict_type'],
  ['a missing source_revision_config', INTERNAL, 'source_revision_config', undefined, 'missing'],
  ['missing secrets', GIT, 'secrets', undefined, 'missing'],
  ['secrets that are null', GIT, 'secrets', null, 'list_type'],
  ['no integration', GIT, 'source_config.integration_id', undefined, 'missing'],
  ['an integration that is no UUID', GIT, 'source_config.integration_id', 'x', 'uuid_parsing'],
  ['no repository', GIT, 'source_config.repo_url', null, 'missing'],
  ...[
    'https://x/y?access_token=hush',
    'ftp://x/y',
    'ext::sh -c id',
    '--upload-pack=x',
    'https://',
    'http://x.example/a',
  ].map((url): (typeof WRONG)[number] => [`a repository at ${url}`, GIT, 'source_config.repo_url', url, 'value_error']),
  ['an unknown deployment type', GIT, 'source_config.deployment_type', 'huge', 'enum'],
  ['build_on_push that is text', GIT, 'source_config.build_on_push', 'yes', 'bool_type'],
  ['an integration for an image', IMAGE, 'source_config.integration_id', 'OWN', 'value_error'],
  ['a repository for an image', IMAGE, 'source_config.repo_url', 'https://x.example', 'value_error'],
  ['a deployment type for an image from elsewhere', IMAGE, 'source_config.deployment_type', 'dev', 'value_error'],
  ['build_on_push for an image', IMAGE, 'source_config.build_on_push', false, 'value_error'],
  ['custom_url for a git source', GIT, 'source_config.custom_url', 'https://a.example', 'value_error'],
  ['a custom_url of another scheme', IMAGE, 'source_config.custom_url', 'ftp://a', 'string_pattern_mismatch'],
  ['a listener that is no UUID', IMAGE, 'source_config.listener_id', 'x', 'uuid_parsing'],
  ['a namespace for a git source', GIT, 'source_config.listener_config.k8s_namespace', 'a', 'value_error'],
  ['a namespace without a listener', IMAGE, 'source_config.listener_config.k8s_namespace', 'a', 'value_error'],
  ['a long install command', GIT, 'source_config.install_command', 'x'.repeat(4097), 'string_too_long'],
  ['a build command that is a number', GIT, 'source_config.build_command', 7, 'string_type'],
  ['a NUL in a build command', GIT, 'source_config.build_command', 'a\0b', 'value_error'],
  ['half a surrogate pair in a label', GIT, 'source_config.resource_spec.labels.a', '\ud800', 'value_error'],
  ['too many cores', GIT, 'source_config.resource_spec.cpu', 9, 'less_than_equal'],
  ['a limit below its request', GIT, 'source_config.resource_spec', { cpu: 2, cpu_limit: 1 }, 'value_error', '.cpu'],
  ['no ref', GIT, 'source_revision_config.repo_ref', undefined, 'missing'],
  ['a branch by its full path', GIT, 'source_revision_config.repo_ref', 'refs/heads/main', 'value_error'],
  ['a ref that would be an option', GIT, 'source_revision_config.repo_ref', '--upload-pack=x', 'value_error'],
  ['a ref for an image', IMAGE, 'source_revision_config.repo_ref', 'main', 'value_error'],
  ['no graph configuration for git', GIT, 'source_revision_config.graph_config_path', null, 'missing'],
  ['no graph configuration for a tarball', TARBALL, 'source_revision_config.graph_config_path', undefined, 'missing'],
  ['a graph configuration for an image', IMAGE, 'source_revision_config.graph_config_path', 'g.json', 'value_error'],
  ['a graph configuration for one of ours', INTERNAL, 'source_revision_config.graph_config_path', 'g', 'value_error'],
  ['one outside the repository', GIT, 'source_revision_config.graph_config_path', '../graph.json', 'value_error'],
  ['no image', IMAGE, 'source_revision_config.image_uri', undefined, 'missing'],
  ['an image for git', GIT, 'source_revision_config.image_uri', 'a:1', 'value_error'],
  ['an image for a tarball', TARBALL, 'source_revision_config.image_uri', 'a:1', 'value_error'],
  ['an image with a scheme', IMAGE, 'source_revision_config.image_uri', 'https://a/b:1', 'value_error'],
  ['an arbitrary tarball path', TARBALL, 'source_revision_config.source_tarball_path', 'some/path', 'value_error'],
  ['a secret without a value', GIT, 'secrets', [{ name: 'A' }], 'missing', '.0.value'],
  ['a secret whose value is a number', GIT, 'secrets', [{ name: 'A', value: 1 }], 'string_type', '.0.value'],
  ['a secret without a name', GIT, 'secrets', [{ value: 'x' }], 'missing', '.0.name'],
  ['a secret that is no variable name', GIT, 'secrets', [{ name: '1A', value: 'x' }], 'value_error', '.0.name'],
  ['a secret with a long name', GIT, 'secrets', [{ name: 'X'.repeat(257), value: 'x' }], 'value_error', '.0.name'],
  ['two secrets of one name', GIT, 'secrets', Array(2).fill({ name: 'A', value: '' }), 'value_error', '.1.name'],
  ['a name that the server sets', GIT, 'secrets', [{ name: 'PORT', value: '1' }], 'value_error', '.0.name'],
  ['another one', GIT, 'secrets', [{ name: 'DATABASE_URI', value: '1' }], 'value_error', '.0.name'],
  [
    ...(['a health path with a space', GIT, 'secrets', [{ name: 'PILOTHOUSE_HEALTH_PATH', value: '/is it' }]] as const),
    ...(['value_error', '.0.value'] as const),
  ],
  ['a value over 64 KiB', GIT, 'secrets', [{ name: 'A', value: 'x'.repeat(65_537) }], 'value_error', '.0.value'],
  ['the mask for a new secret', GIT, 'secrets', [{ name: 'A', value: '••••••••' }], 'value_error', '.0.value'],
  ['references for git', GIT, 'secret_references', [{ name: 'A', secret_name: 'b', secret_key: 'c' }], 'value_error'],
  [
    'a reference without a key',
    IMAGE,
    'secret_references',
    [{ name: 'A', secret_name: 'b' }],
    'missing',
    '.0.secret_key',
  ],
  ['one without a secret', IMAGE, 'secret_references', [{ name: 'A', secret_key: 'b' }], 'missing', '.0.secret_name'],
  ['one without a name', IMAGE, 'secret_references', [{ secret_name: 'a', secret_key: 'b' }], 'missing', '.0.name'],
]

overBoth(app, (api) => {
  const create = (body: object, how?: How) => api.get('createDeployment', { ...body }, how)
  const remove = (deployment_id: string) => api.get('deleteDeployment', { deployment_id })

  describe('a new deployment', () => {
    test('from git has every field with its defaults', async () => {
      const body = git()
      const created = await create(body)
      expect(created).toEqual({
        id: expect.stringMatching(UUID),
        tenant_id: app.tenant.workspaceId,
        name: body.name,
        source: 'gitprovider',
        source_config: {
          ...{ integration_id: app.tenant.integrationId, repo_url: 'https://git.example.com/acme/agent' },
          ...{ deployment_type: 'dev', build_on_push: false, custom_url: null, resource_spec: null },
          ...{ listener_id: null, listener_config: null, install_command: null, build_command: null },
        },
        source_revision_config: {
          ...{ repo_ref: 'main', graph_config_path: 'graph.json', image_uri: null },
          ...{ source_tarball_path: null, repo_commit_sha: null },
        },
        secrets: [],
        secret_references: null,
        status: 'AWAITING_DATABASE',
        serving: false,
        access: 'workspace',
        idle_minutes: null,
        restarted_at: null,
        ...{ restarting: false, restart_count: 0, last_restart: null },
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
        health: {
          ready: 0,
          desired: 1,
          draining: 0,
          message: expect.any(String),
          reason: 'IN_PROGRESS',
          observed_at: null,
        },
        url: null,
        image_version: null,
        latest_revision_id: expect.stringMatching(UUID),
        active_revision_id: null,
        created_at: expect.any(String),
        updated_at: expect.any(String),
      })
      for (const one of bothOf(app))
        expect(await one.get('getDeployment', { deployment_id: created.id })).toEqual(created)
      const ids = { deployment_id: created.id, revision_id: created.latest_revision_id }
      expect(await api.get('getRevision', ids)).toMatchObject({ status: 'CREATING', attempt: 1 })
    })

    test('has the given values, which look the same over both', async () => {
      const body = set(git(), 'source_config', {
        integration_id: app.tenant.integrationId,
        repo_url: 'https://git.example.com/acme/agent',
        deployment_type: 'prod',
        build_on_push: true,
        install_command: 'npm ci',
        build_command: 'npm run build',
        resource_spec: { cpu: 1.26, memory_mb: 512, min_scale: 1, max_scale: 3, labels: { 'a_b/C-d': 'x', aB: 'c' } },
      })
      const secrets = [{ name: 'Mixed_case_1', value: 'x' }]
      const created = await create({ ...body, secrets })
      const { resource_spec, ...config } = body.source_config as typeof created.source_config
      expect(created.source_config).toEqual({
        ...created.source_config,
        ...config,
        // rounded to tenths
        resource_spec: { ...resource_spec, cpu: 1.3 },
      })
      expect(created.secrets).toEqual(secrets)
      for (const key of [app.keys.admin, app.keys.viewer]) {
        const [one, other] = bothOf(app).map((each) =>
          each.get('getDeployment', { deployment_id: created.id }, { key }),
        )
        expect(await one).toEqual(await other)
      }
    })

    test('has no command if it is empty', async () => {
      const created = await create(set(git(), 'source_config.install_command', ''))
      expect(created.source_config.install_command).toBeNull()
    })

    test('from an image keeps custom_url and secret references', async () => {
      const secret_references = [{ name: 'DB_PASSWORD', secret_name: 'database', secret_key: 'password' }]
      const source_config = { custom_url: `https://${uniqueName()}.example.com/` }
      const created = await create({ ...bodies.external_container(), source_config, secret_references })
      expect(created).toMatchObject({ source_config, secret_references })
    })

    test('of any source accepts an empty list of secret references', async () => {
      expect(await create({ ...git(), secret_references: [] })).toMatchObject({ source: 'gitprovider' })
    })

    test('creates a tracing project of the same name, and reuses it after a deletion', async () => {
      const body = bodies.internal_container()
      const { id } = await create(body)
      const key = { workspaceId_name: { workspaceId: app.tenant.workspaceId, name: body.name } }
      const project = await app.core.db.tracingProject.findUniqueOrThrow({ where: key })
      await remove(id)
      await create(body)
      expect(await app.core.db.tracingProject.findUnique({ where: key })).toEqual(project)
    })

    test.each(SOURCES)('of the source %s needs nothing but what is required', async (source) => {
      const created = await create(bodyOf(source))
      expect(created.source).toBe(source)
      const path = source === IMAGE || source === INTERNAL ? null : 'graph.json'
      expect(created.source_revision_config.graph_config_path).toBe(path)
    })

    test.each([TARBALL, INTERNAL])(
      'of the source %s takes a deployment type, on create and change, and shows none',
      async (source) => {
        const created = await create(set(bodyOf(source), 'source_config.deployment_type', 'prod'))
        expect(created.source_config.deployment_type).toBeNull()
        const source_config = { deployment_type: 'dev' }
        expect(await api.get('updateDeployment', { deployment_id: created.id, source_config })).toEqual(created)
      },
    )
  })

  describe('the violation names the field:', () => {
    test.each(WRONG)('%s (%s)', async (_what, source, field, value, type, at = '') => {
      const given = value === 'OWN' ? app.tenant.integrationId : value
      await api.refuses('createDeployment', set(bodyOf(source), field, given), [`${field}${at} ${type}`])
    })

    test('a tag with build_on_push', async () => {
      const tag = set(git(), 'source_revision_config.repo_ref', 'refs/tags/v1')
      const push = (on: boolean) => set(tag, 'source_config.build_on_push', on)
      await api.refuses('createDeployment', push(true), ['source_config.build_on_push value_error'])
      await create(push(false))
    })

    test('all violations of the shape are reported together', async () => {
      const body = { ...git(), name: '', source_config: { integration_id: 'x' }, secrets: [{ name: 'A', value: 'a' }] }
      await api.refuses('createDeployment', set(body, 'source_config.resource_spec.cpu', 9), [
        'name string_too_short',
        'source_config.integration_id uuid_parsing',
        'source_config.resource_spec.cpu less_than_equal',
      ])
    })

    test('all violations of the rules are reported together', async () => {
      const body = {
        ...bodies.external_container(),
        source_config: { repo_url: 'https://a.example', build_on_push: true },
        source_revision_config: { repo_ref: 'main' },
        secrets: [{ name: '1', value: '' }],
      }
      await api.refuses('createDeployment', body, [
        'secrets.0.name value_error',
        'source_config.build_on_push value_error',
        'source_config.repo_url value_error',
        'source_revision_config.image_uri missing',
        'source_revision_config.repo_ref value_error',
      ])
    })

    test('a password in the URL of a repository is refused, and not repeated', async () => {
      const body = set(git(), 'source_config.repo_url', 'https://me:hunter2@git.example.com/acme/agent')
      const { answer } = await api.refuses('createDeployment', body, ['source_config.repo_url value_error'])
      expect(answer.text).toContain('Must not contain a user name or password')
      expect(answer.text).not.toContain('hunter2')
    })
  })

  test('a repository that does not exist yet is accepted, also a local one', async () => {
    for (const url of ['ssh://git@git.example.com/acme/agent', 'file:///nowhere/agent.git', '/nowhere/agent.git'])
      await create(set(git(), 'source_config.repo_url', url))
  })

  describe('creating', () => {
    test('needs a deployer; the role is checked before the input', async () => {
      await create(git(), { key: app.keys.deployer })
      await api.fails('createDeployment', { ...git(), name: '' }, 'FORBIDDEN', { key: app.keys.viewer })
    })

    test('with an unknown integration or listener, or another tenant’s, finds none', async () => {
      for (const id of [NOWHERE, app.sibling.integrationId, app.other.integrationId])
        expect(await api.fails('createDeployment', bodies.gitprovider(id), 'NOT_FOUND')).toMatchObject({
          message: `Integration ID ${id} not found.`,
        })
      const body = set(bodies.external_container(), 'source_config.listener_id', NOWHERE)
      expect((await api.fails('createDeployment', body, 'NOT_FOUND')).message).toBe(`Listener ID ${NOWHERE} not found.`)
    })

    test('with the name of an existing deployment is refused; it is free elsewhere, and after its deletion', async () => {
      const body = bodies.internal_container()
      const { id } = await create(body)
      expect((await api.fails('createDeployment', body, 'ALREADY_EXISTS')).message).toContain(body.name)
      await create(body, { key: app.sibling.keys.admin })
      await remove(id)
      await create(body)
    })

    test('twice concurrently with one name creates one deployment and leaves nothing of the other', async () => {
      const body = { ...git(), name: uniqueName('race'), secrets: [{ name: 'A', value: 'b' }] }
      const answers = await Promise.all([1, 2].map(() => api.call('createDeployment', body)))
      expect(answers.map(({ code }) => code ?? 'made').sort()).toEqual(['ALREADY_EXISTS', 'made'])
      const { db } = app.core
      const made = await db.deployment.findMany({ where: { name: body.name }, include: { revisions: true } })
      expect(made.map(({ revisions }) => revisions.length)).toEqual([1])
      expect(await db.tracingProject.count({ where: { name: body.name } })).toBe(1)
      expect(await db.secretSet.count({ where: { deploymentId: made[0]!.id } })).toBe(1)
    })
  })
})

describe('over REST', () => {
  const post = (body: unknown) => app.call('POST', '/v2/deployments', { body })

  test('unknown and read-only members are ignored', async () => {
    const unknown = { color: 'red', status: 'READY', id: NOWHERE }
    const body = set(
      set({ ...git(), ...unknown }, 'source_config.shape', 'round'),
      'source_revision_config.repo_commit_sha',
      'a',
    )
    const created = await app.create(body)
    expect(created).toMatchObject({ status: 'AWAITING_DATABASE', source_revision_config: { repo_commit_sha: null } })
    expect(created.id).not.toBe(NOWHERE)
    expect(JSON.stringify(created)).not.toMatch(/"(red|round)"/)
  })

  test('no body, a body that is a list, and one that is not JSON are refused', async () => {
    expect(violations(await post(undefined))).toEqual(['body missing'])
    expect(violations(await post([]))).toEqual(['body dict_type'])
    expect(violations(await post('{"name": '))).toEqual(['body json_invalid'])
  })

  test('all violations of types are reported together', async () => {
    expect(
      violations(await post({ name: '', source: 'ftp', source_config: { integration_id: 'x' }, secrets: {} })),
    ).toEqual([
      'body.name string_too_short',
      'body.secrets list_type',
      'body.source enum',
      'body.source_config.integration_id uuid_parsing',
      'body.source_revision_config missing',
    ])
  })
})
