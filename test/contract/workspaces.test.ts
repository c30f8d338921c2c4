/** New workspaces (docs/api-rules.md#who-is-calling). */
import { expect, test } from 'vitest'
import { uniqueName, useRestApp } from '../rest/support.ts'
import { type How, overBoth } from './api.ts'

const app = useRestApp()

/** An admin of the whole organization, in this workspace of it. */
const wide = (tenant = app.tenant.workspaceId): How => ({ key: app.keys.organization, tenant })
const count = () => app.core.db.workspace.count({ where: { organizationId: app.tenant.organizationId } })

overBoth(app, (api) => {
  const create = (name: unknown, how = wide()) => api.call('createWorkspace', { name }, how)

  test('a new workspace is empty, has the first event of its log, and can be used immediately', async () => {
    const name = uniqueName('team')
    const { value, answer } = await create(name)
    expect(value, answer.text).toEqual({
      ...{ id: expect.any(String), organization_id: app.tenant.organizationId, name, created_at: expect.any(String) },
    })
    const { data } = await app.gql(
      `{ me { actor { subject } workspace { id name } } deployments { totalCount } gitIntegrations { id }
         events { nodes { type actor { subject } } } }`,
      {},
      wide(value.id),
    )
    const { subject } = data.me.actor
    expect(data).toMatchObject({
      me: { workspace: { id: value.id, name } },
      deployments: { totalCount: 0 },
      gitIntegrations: [],
      events: { nodes: [{ type: 'workspace.created', actor: { subject } }] },
    })
  })

  test.each([
    [undefined, 'missing'],
    ['', 'string_too_short'],
    ['a\nb', 'string_pattern_mismatch'],
    ['x'.repeat(129), 'string_too_long'],
  ])('a workspace needs a printable name, not %j', async (name, type) => {
    await api.refuses('createWorkspace', { name }, [`name ${type}`], wide())
  })

  test('a name is unique in its organization, even with concurrent calls', async () => {
    const name = uniqueName('team')
    const answers = await Promise.all(Array.from({ length: 8 }, () => create(name)))
    expect(answers.map(({ code }) => code ?? 'made').sort()).toEqual([...Array(7).fill('ALREADY_EXISTS'), 'made'])
    const elsewhere = { key: app.other.keys.organization, tenant: app.other.workspaceId }
    expect((await create(name, elsewhere)).ok).toBe(true)
  })

  test('only an admin of the whole organization creates one, and only there', async () => {
    const before = await count()
    for (const key of [app.keys.admin, app.keys.deployer, app.keys.viewer])
      expect((await create(uniqueName(), { key })).code).toBe('FORBIDDEN')
    const message = 'Only an organization-wide credential can create a workspace.'
    expect((await create(uniqueName(), { key: app.keys.admin })).message).toBe(message)
    expect((await create(uniqueName(), wide(app.other.workspaceId))).code).toBe('FORBIDDEN')
    expect(await count()).toBe(before)
  })
})
