/** The same scenarios through REST and GraphQL: the same rules, the same errors, the same answers. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, testApp } from '../support/app.ts'
import { gitBody, imageBody, listener } from '../support/factories.ts'
import { type Driver, graphqlDriver, type Outcome, restDriver } from './drivers.ts'

let app: TestApp
let rest: Driver
let graphql: Driver
beforeAll(async () => {
  app = await testApp()
  rest = restDriver(app)
  graphql = graphqlDriver(app)
})
afterAll(() => app.close())

/** Runs a scenario through both transports, expects the same failure and returns it. */
async function same(scenario: (driver: Driver) => Promise<Outcome>): Promise<Outcome> {
  const [one, other] = [await scenario(rest), await scenario(graphql)]
  expect(other).toEqual(one)
  return one
}
const failing = (overrides: object, source: 'git' | 'image' = 'git') =>
  same((driver) =>
    driver.create(
      source === 'git'
        ? gitBody(app.tenant, { name: 'parity', ...overrides })
        : imageBody({ name: 'parity', ...overrides }),
    ),
  )

async function made(driver: Driver, body: object = gitBody(app.tenant)) {
  const { ok, value } = await driver.create(body)
  expect(ok).toBe(true)
  return value
}

describe('Both transports refuse a create the same way for', () => {
  test.each<[string, object, string[]]>([
    ['an empty name', { name: '' }, ['name string_too_short']],
    ['a name with a line break', { name: 'a\nb' }, ['name string_pattern_mismatch']],
    ['a name that is too long', { name: 'x'.repeat(129) }, ['name string_too_long']],
    ['no repository', { source_config: { repo_url: null } }, ['source_config.repo_url missing']],
    ...[
      'ftp://x/y',
      'ext::sh -c id',
      '--upload-pack=x',
      'https://',
      'http://github.com/a/b',
      'https://u:pw@x.example/y',
    ].map((repo_url): [string, object, string[]] => [
      `a repository at ${repo_url}`,
      { source_config: { repo_url } },
      ['source_config.repo_url value_error'],
    ]),
    [
      'an image for a git source',
      { source_revision_config: { image_uri: 'a:1' } },
      ['source_revision_config.image_uri value_error'],
    ],
    [
      'build_on_push with a tag',
      { source_config: { build_on_push: true }, source_revision_config: { repo_ref: 'refs/tags/v1' } },
      ['source_config.build_on_push value_error'],
    ],
    [
      'too many cores',
      { source_config: { resource_spec: { cpu: 9 } } },
      ['source_config.resource_spec.cpu less_than_equal'],
    ],
    [
      'a limit below its request',
      { source_config: { resource_spec: { cpu: 2, cpu_limit: 1 } } },
      ['source_config.resource_spec.cpu value_error'],
    ],
    [
      'a path out of the repository',
      { source_revision_config: { graph_config_path: '../x' } },
      ['source_revision_config.graph_config_path value_error'],
    ],
    ['a reserved secret', { secrets: [{ name: 'PORT', value: '1' }] }, ['secrets.0.name value_error']],
    [
      'several violations',
      { source_config: { repo_url: null, custom_url: 'https://x.example' }, secrets: [{ name: '1', value: '' }] },
      ['secrets.0.name value_error', 'source_config.custom_url value_error', 'source_config.repo_url missing'],
    ],
  ])('%s', async (_, overrides, issues) => {
    expect(await failing(overrides)).toMatchObject({ ok: false, code: 'VALIDATION_FAILED', issues })
  })

  test('a git field for an image', async () => {
    expect(
      await failing(
        { source_config: { build_on_push: true }, source_revision_config: { graph_config_path: 'g.json' } },
        'image',
      ),
    ).toMatchObject({
      issues: ['source_config.build_on_push value_error', 'source_revision_config.graph_config_path value_error'],
    })
  })

  test('an unknown integration and listener', async () => {
    const id = randomUUID()
    expect(await failing({ source_config: { integration_id: id } })).toMatchObject({
      code: 'NOT_FOUND',
      message: `Integration ID ${id} not found.`,
    })
    expect(await failing({ source_config: { listener_id: id } }, 'image')).toMatchObject({
      code: 'NOT_FOUND',
      message: `Listener ID ${id} not found.`,
    })
  })

  test('a role that is too low, and a name that is taken', async () => {
    const body = gitBody(app.tenant)
    expect(await same((driver) => driver.create(body, app.keys.viewer))).toMatchObject({ code: 'FORBIDDEN' })
    await made(rest, body)
    expect(await same((driver) => driver.create(body))).toMatchObject({ code: 'ALREADY_EXISTS' })
  })
})

describe('A resource created through one transport looks the same in the other:', () => {
  test('a deployment from git with every member', async () => {
    const body = gitBody(app.tenant, {
      source_config: {
        build_on_push: true,
        deployment_type: 'prod',
        install_command: 'npm ci',
        build_command: 'npm run build',
        resource_spec: { cpu: 1.26, memory_mb: 512, labels: { 'a_b/C-d': 'x' } },
      },
      secrets: [{ name: 'Mixed_case_1', value: 'v' }],
    })
    for (const driver of [rest, graphql]) {
      const { id } = await made(driver, { ...body, name: randomUUID() })
      for (const key of [app.keys.admin, app.keys.viewer]) {
        const [shown, other] = [(await rest.get(id, key)).value, (await graphql.get(id, key)).value]
        expect(other).toMatchObject({
          id,
          name: shown.name,
          status: shown.status,
          tenant_id: shown.tenant_id,
          secrets: shown.secrets,
          secret_references: shown.secret_references,
          source_revision_config: shown.source_revision_config,
          latest_revision: { id: shown.latest_revision_id },
          active_revision: null,
          created_at: shown.created_at,
        })
        const { resource_spec, ...config } = shown.source_config
        expect(other.source_config).toMatchObject(config)
        expect(other.source_config.resource_spec).toMatchObject({
          cpu: 1.3,
          memory_mb: 512,
          labels: { 'a_b/C-d': 'x' },
        })
        expect(resource_spec).toMatchObject({ cpu: 1.3, memory_mb: 512, labels: { 'a_b/C-d': 'x' } })
      }
    }
  })

  test('an image with secret references', async () => {
    const references = [{ name: 'DB_PASSWORD', secret_name: 'db', secret_key: 'password' }]
    const { id } = await made(
      graphql,
      imageBody({ secret_references: references, source_config: { custom_url: 'https://agent.example.com' } }),
    )
    for (const driver of [rest, graphql]) {
      expect((await driver.get(id)).value).toMatchObject({
        secret_references: references,
        source_config: { custom_url: 'https://agent.example.com' },
      })
    }
  })

  test('lists by the same filters', async () => {
    const { id, name } = await made(rest, gitBody(app.tenant, { source_config: { deployment_type: 'dev_free' } }))
    for (const filter of [
      { name },
      { name_contains: name.slice(4, 20).toUpperCase() },
      { deployment_type: 'dev_free' },
      { deployment_ids: id },
    ]) {
      for (const driver of [rest, graphql]) {
        const { value } = await driver.list(
          driver === graphql && 'deployment_ids' in filter ? { deployment_ids: [id] } : filter,
        )
        expect(value.map((d: { id: string }) => d.id)).toEqual([id])
      }
    }
  })
})

describe('The life of a deployment is the same', () => {
  test.each(['REST', 'GraphQL'])('through %s', async (which) => {
    const driver = which === 'REST' ? rest : graphql
    const { id } = await made(driver)
    const first = (await rest.get(id)).value.latest_revision_id

    expect(await driver.update(id, { source_config: { build_command: 'make' } })).toMatchObject({ ok: true })
    expect((await rest.get(id)).value.latest_revision_id).toBe(first)
    expect(await driver.update(id, { source_revision_config: { repo_ref: 'next' } })).toMatchObject({ ok: true })
    const second = (await rest.get(id)).value.latest_revision_id
    expect(second).not.toBe(first)
    expect(await driver.createRevision(id, {})).toMatchObject({ ok: true, value: { status: 'CREATING', attempt: 1 } })

    expect(await driver.interrupt(id, second)).toMatchObject({ ok: false, code: 'CONFLICT' })
    expect(await driver.redeploy(id, second)).toMatchObject({ ok: true, value: { id } })
    expect(await driver.redeploy(id, second)).toMatchObject({ ok: false, code: 'NOT_REDEPLOYABLE' })
    expect(await driver.interrupt(id, second)).toMatchObject({ ok: true, value: { status: 'INTERRUPTED', attempt: 2 } })
    expect(await driver.remove(id, { force: true }, app.keys.deployer)).toMatchObject({ ok: false, code: 'FORBIDDEN' })
    expect(await driver.remove(id)).toMatchObject({ ok: true })
    expect(await driver.remove(id)).toMatchObject({ ok: true })
    expect(await driver.get(id)).toMatchObject({
      ok: false,
      code: 'NOT_FOUND',
      message: `Deployment ID ${id} not found.`,
    })
  })
})

describe('Both transports refuse a change the same way for', () => {
  test('immutable fields: another value is refused, the same passes', async () => {
    const { id } = await made(rest)
    const { name, source_config } = (await rest.get(id)).value
    expect(
      await same((d) =>
        d.update(id, {
          name: 'other',
          source_config: {
            repo_url: 'https://other.example/x',
            deployment_type: 'prod',
            custom_url: 'https://x.example',
          },
        }),
      ),
    ).toMatchObject({
      issues: [
        'name value_error',
        'source_config.custom_url value_error',
        'source_config.deployment_type value_error',
        'source_config.repo_url value_error',
      ],
    })
    for (const driver of [rest, graphql]) {
      expect(
        await driver.update(id, {
          name,
          source_config: { repo_url: source_config.repo_url, integration_id: source_config.integration_id },
        }),
      ).toMatchObject({ ok: true })
    }
  })

  test('another tenant’s ids and unknown ids', async () => {
    const { id } = await made(rest)
    const revision = (await rest.get(id)).value.latest_revision_id
    const { admin } = app.other.keys
    for (const scenario of [
      (d: Driver) => d.get(id, admin),
      (d: Driver) => d.update(id, {}, admin),
      (d: Driver) => d.createRevision(id, {}, admin),
      (d: Driver) => d.redeploy(id, revision, admin),
      (d: Driver) => d.interrupt(id, revision, admin),
      (d: Driver) => d.remove(id, {}, admin),
    ]) {
      expect(await same(scenario)).toMatchObject({ code: 'NOT_FOUND', message: `Deployment ID ${id} not found.` })
    }
    const unknown = randomUUID()
    expect(await same((d) => d.redeploy(id, unknown))).toMatchObject({
      code: 'NOT_FOUND',
      message: `Revision ID ${unknown} not found.`,
    })
    for (const driver of [rest, graphql])
      expect(await driver.get('no-uuid')).toMatchObject({ code: 'VALIDATION_FAILED' })
  })

  test('images once the workspace has a listener: they need it, and its namespaces', async () => {
    const { id } = await listener(app)
    expect(await failing({}, 'image')).toMatchObject({ issues: ['source_config.listener_id missing'] })
    expect(
      await failing({ source_config: { listener_id: id, listener_config: { k8s_namespace: 'elsewhere' } } }, 'image'),
    ).toMatchObject({
      issues: ['source_config.listener_config.k8s_namespace value_error'],
    })
  })
})

describe('Listeners', () => {
  const body = (more: object = {}) => ({
    compute_type: 'k8s',
    compute_id: randomUUID(),
    compute_config: { k8s_namespaces: ['agents'] },
    ...more,
  })

  test('are answered equally, through either transport', async () => {
    for (const driver of [rest, graphql]) {
      const { value } = await driver.createListener(body({ version: '1' }))
      const changed = await driver.updateListener(value.id, { version: '2', compute_config: { k8s_namespaces: [] } })
      expect(changed.value).toMatchObject({ version: '2', compute_config: { k8s_namespaces: [] } })
      expect(await same((reader) => reader.getListener(value.id))).toEqual(changed)
      expect((await same((reader) => reader.listListeners())).value[0]).toEqual(changed.value)
      expect((await driver.removeListener(value.id)).ok).toBe(true)
    }
  })

  test.each<[string, object, string[]]>([
    ['no compute ID', { compute_id: '' }, ['compute_id string_too_short']],
    [
      'bad and repeated namespaces',
      { compute_config: { k8s_namespaces: ['A', 'b', 'b'] } },
      ['compute_config.k8s_namespaces.0 value_error', 'compute_config.k8s_namespaces.2 value_error'],
    ],
  ])('with %s are refused equally', async (_what, more, issues) => {
    expect(await same((driver) => driver.createListener(body(more)))).toMatchObject({ ok: false, issues })
  })

  test('are refused equally when they exist, are unknown, or the role is too low', async () => {
    const one = body()
    await rest.createListener(one)
    expect((await same((driver) => driver.createListener(one))).code).toBe('ALREADY_EXISTS')
    const unknown = randomUUID()
    expect((await same((driver) => driver.getListener(unknown))).code).toBe('NOT_FOUND')
    expect((await same((driver) => driver.updateListener(unknown, {}))).code).toBe('NOT_FOUND')
    expect((await same((driver) => driver.removeListener(unknown))).code).toBe('NOT_FOUND')
    expect((await same((driver) => driver.createListener(body(), app.keys.deployer))).code).toBe('FORBIDDEN')
  })
})
