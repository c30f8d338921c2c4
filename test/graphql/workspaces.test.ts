/** The caller and its workspaces (`me`, `workspaces`). test/contract has the rules of new workspaces. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { type Call, useApp } from '../support/app.ts'
import { agentKey } from '../support/factories.ts'

const app = useApp()

/** Calls as an admin of the whole organization, in workspace A. */
const wide = (): Call => ({ key: app.keys.organization, tenant: app.tenant.workspaceId })
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
    for (const each of ['One', 'two', '100%'])
      await app.rest('POST', '/v2/workspaces', { ...wide(), body: { name: `${mark}-${each}` } })
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
