/** The caller and its workspaces (`me`, `workspaces`), and how a workspace is created, over REST and GraphQL. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type Call, useApp } from '../support/app.ts'
import { agentKey } from '../support/factories.ts'
import { mutate } from './mutate.ts'

const app = useApp()

const name = () => `team-${randomUUID().slice(0, 8)}`
/** Calls as an admin of the whole organization, in workspace A. */
const wide = (): Call => ({ key: app.keys.organization, tenant: app.tenant.workspaceId })
const post = (body: object, call: Call = wide()) => app.rest('POST', '/v2/workspaces', { ...call, body })
const create = (input: object, call: Call = wide()) =>
  mutate(app, 'createWorkspace', 'workspace { id name organization { id } }', input, call)
const LIST =
  'query ($part: String, $first: Int) { workspaces(nameContains: $part, first: $first) { totalCount nodes { id name } pageInfo { hasNextPage endCursor } } }'
const list = async (call?: Call, variables = {}) => {
  const { data, errors } = await app.gql(LIST, variables, call)
  expect(errors).toBeUndefined()
  return data.workspaces
}
const named = (nodes: { name: string }[]) => nodes.map((node) => node.name)

describe('me', () => {
  const ME = `{ me { actor { kind subject name } role secretsRead organizationWide
    workspace { id name } organization { id name plan } } }`

  test('is the caller with rights, workspace and organization', async () => {
    const { data } = await app.gql(ME, {}, { key: app.keys.viewer })
    const { subject } = (await app.gql('{ viewer { subject } }', {}, { key: app.keys.viewer })).data.viewer
    expect(data.me).toMatchObject({
      actor: { kind: 'api_key', subject, name: expect.any(String) },
      role: 'viewer',
      secretsRead: false,
      organizationWide: false,
      workspace: { id: app.tenant.workspaceId },
      organization: { id: app.tenant.organizationId },
    })
  })

  test('with an organization’s credential is in the workspace of X-Tenant-Id', async () => {
    const { data } = await app.gql(ME, {}, { key: app.keys.organization, tenant: app.sibling.workspaceId })
    expect(data.me).toMatchObject({ role: 'admin', organizationWide: true, workspace: { id: app.sibling.workspaceId } })
  })

  test('is forbidden for keys of machines', async () => {
    const key = await agentKey(app, 'bot')
    for (const query of [ME, '{ workspaces { nodes { id } } }']) {
      const { errors } = await app.gql(query, {}, { key })
      expect(errors?.[0].extensions.code).toBe('FORBIDDEN')
    }
  })
})

describe('workspaces', () => {
  test('are the caller’s own, or all for an organization’s credential', async () => {
    const own = await list({ key: app.keys.viewer })
    expect(own).toMatchObject({ totalCount: 1, nodes: [{ id: app.tenant.workspaceId }] })
    const all = await list(wide())
    const ids = all.nodes.map((node: { id: string }) => node.id)
    expect(ids).toEqual(expect.arrayContaining([app.tenant.workspaceId, app.sibling.workspaceId]))
    expect(ids).not.toContain(app.other.workspaceId)
    expect(all.totalCount).toBe(ids.length)
  })

  test('are found by a part of their names, in pages', async () => {
    const mark = randomUUID().slice(0, 8)
    for (const each of ['One', 'two', '100%']) await post({ name: `${mark}-${each}` })
    expect(named((await list(wide(), { part: `${mark.toUpperCase()}-o` })).nodes)).toEqual([`${mark}-One`])
    expect(named((await list(wide(), { part: '%' })).nodes)).toEqual([`${mark}-100%`])
    const first = await list(wide(), { part: mark, first: 2 })
    expect(first).toMatchObject({ totalCount: 3, pageInfo: { hasNextPage: true } })
    expect(named(first.nodes)).toEqual([`${mark}-100%`, `${mark}-two`])
  })

  test('are not found by another tenant’s id', async () => {
    const get = (id: string, call?: Call) =>
      app.gql('query ($id: ID!) { workspace(id: $id) { id name } node(id: $id) { id } }', { id }, call)
    const there = await get(app.sibling.workspaceId, wide())
    expect(there.data).toMatchObject({
      workspace: { id: app.sibling.workspaceId },
      node: { id: app.sibling.workspaceId },
    })
    for (const [id, call] of [
      [app.other.workspaceId, wide()],
      [app.sibling.workspaceId, { key: app.keys.admin }],
      [randomUUID(), wide()],
    ] as const) {
      const { data, errors } = await get(id, call)
      expect(data).toEqual({ workspace: null, node: null })
      expect(errors?.map(({ extensions }) => extensions.code)).toEqual(['NOT_FOUND'])
    }
  })
})

describe('a new workspace', () => {
  test('is empty, has the first event of its log, and can be used immediately', async () => {
    const made = name()
    const answer = await post({ name: made })
    expect(answer.status, answer.text).toBe(201)
    expect(answer.body).toEqual({
      id: expect.any(String),
      organization_id: app.tenant.organizationId,
      name: made,
      created_at: expect.any(String),
    })
    const call = { key: app.keys.organization, tenant: answer.body.id }
    const { data } = await app.gql(
      '{ me { actor { subject } workspace { id } } deployments { totalCount } gitIntegrations { id } events { nodes { type actor { subject } } } }',
      {},
      call,
    )
    const { subject } = data.me.actor
    expect(data).toMatchObject({
      me: { workspace: { id: answer.body.id } },
      deployments: { totalCount: 0 },
      gitIntegrations: [],
      events: { nodes: [{ type: 'workspace.created', actor: { subject } }] },
    })
  })

  test('is created by the mutation, too', async () => {
    const made = name()
    expect(await create({ name: made })).toMatchObject({
      __typename: 'CreateWorkspaceSuccess',
      workspace: { name: made, organization: { id: app.tenant.organizationId } },
    })
    expect(named((await list(wide())).nodes)).toContain(made)
  })

  test('needs a printable name', async () => {
    for (const [wrong, type] of [
      ['', 'string_too_short'],
      ['a\nb', 'string_pattern_mismatch'],
      ['x'.repeat(129), 'string_too_long'],
    ] as const) {
      const answer = await post({ name: wrong })
      expect([answer.status, answer.body.detail]).toMatchObject([422, [{ loc: ['body', 'name'], type }]])
      expect(await create({ name: wrong })).toMatchObject({
        __typename: 'ValidationError',
        issues: [{ path: ['input', 'name'], code: type }],
      })
    }
    expect((await post({})).body.detail).toMatchObject([{ loc: ['body', 'name'], type: 'missing' }])
  })

  test('has a unique name in its organization, even with concurrent calls', async () => {
    const sent = { name: name() }
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(sent)))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)])
    expect(answers.find(({ status }) => status === 409)!.body.code).toBe('ALREADY_EXISTS')
    expect(await create(sent)).toMatchObject({ __typename: 'ConflictError', code: 'ALREADY_EXISTS' })
    const elsewhere = { key: app.other.keys.organization, tenant: app.other.workspaceId }
    expect((await post(sent, elsewhere)).status).toBe(201)
  })

  test('needs an admin of the whole organization', async () => {
    const before = (await list(wide())).totalCount
    for (const key of [app.keys.admin, app.keys.deployer, app.keys.viewer]) {
      const { status, body } = await post({ name: name() }, { key })
      expect([status, body.code]).toEqual([403, 'FORBIDDEN'])
      expect(await create({ name: name() }, { key })).toMatchObject({ __typename: 'ForbiddenError', code: 'FORBIDDEN' })
    }
    const { status, body } = await post({ name: name() }, { key: app.keys.admin })
    expect([status, body.detail]).toEqual([403, 'Only an organization-wide credential can create a workspace.'])
    expect((await list(wide())).totalCount).toBe(before)
  })

  test('can’t be created in another organization', async () => {
    const { status } = await post({ name: name() }, { key: app.keys.organization, tenant: app.other.workspaceId })
    expect(status).toBe(403)
  })
})
