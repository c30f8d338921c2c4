/** The caller and its workspaces over both transports (docs/api-rules.md#who-is-calling). */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { useRestApp } from '../rest/support.ts'
import { agentKey, listener, listenerKey } from '../support/factories.ts'
import { overBoth, type VerbName } from './api.ts'

const app = useRestApp()
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

const id = '00000000-0000-4000-8000-000000000000'
/** Reads and writes of each kind of resource, also of the organization. */
const OTHER_CALLS: Partial<Record<VerbName, Record<string, unknown>>> = {
  getMe: {},
  listDeployments: {},
  getDeployment: { deployment_id: id },
  listTags: {},
  listListeners: {},
  listApiKeys: {},
  listOAuthProviders: {},
  listOAuthTokens: {},
  listConnections: { agent_id: 'bot' },
  lookUpLogin: { code: 'BCDF-GHJK' },
  createWorkspace: { name: 'team' },
  createApiKey: { name: 'ci', role: 'viewer' },
  revokeApiKey: { api_key_id: id },
  revokeSession: { session_id: id },
  approveLogin: { login_id: id },
  deleteDeployment: { deployment_id: id },
  deleteOAuthTokensOfUser: { user_id: 'ada' },
}

overBoth(app, (api) => {
  test('me is the caller with its key, role, workspace and organization, and the server’s version', async () => {
    const { workspaceId, organizationId } = app.tenant
    for (const [role, secrets_read] of [
      ['viewer', false],
      ['deployer', false],
      ['admin', true],
    ] as const) {
      const me = await api.get('getMe', {}, { key: app.keys[role] })
      expect(me).toMatchObject({
        actor: { kind: 'api_key', name: me.api_key.name, id: me.api_key.id },
        ...{ role, secrets_read, organization_wide: false, session: null },
        workspace: { id: workspaceId, organization_id: organizationId, name: expect.any(String) },
        organization: { id: organizationId, plan: 'self_hosted_enterprise' },
        server: { version },
      })
    }
  })

  test('a credential of the organization names the workspace, and sees all workspaces', async () => {
    const key = app.keys.organization
    for (const { workspaceId } of [app.tenant, app.sibling]) {
      const me = await api.get('getMe', {}, { key, tenant: workspaceId })
      expect(me).toMatchObject({ organization_wide: true, workspace: { id: workspaceId } })
      const ids = (await api.get('listWorkspaces', {}, { key, tenant: workspaceId })).map(
        (one: { id: string }) => one.id,
      )
      expect(ids).toEqual(expect.arrayContaining([app.tenant.workspaceId, app.sibling.workspaceId]))
      expect(ids).not.toContain(app.other.workspaceId)
    }
    await api.fails('getMe', {}, 'FORBIDDEN', { key, tenant: app.other.workspaceId })
  })

  test('a credential of the organization names the workspace of every call, except to list workspaces over REST', async () => {
    const how = { key: app.keys.organization }
    for (const [verb, input] of Object.entries(OTHER_CALLS)) {
      const { answer } = await api.fails(verb as VerbName, input, 'TENANT_REQUIRED', how)
      expect(answer.status).toBe(403)
    }
    await api.fails('listWorkspaces', {}, 'FORBIDDEN', { ...how, tenant: app.other.workspaceId })
    if (api.over === 'GraphQL') return void (await api.fails('listWorkspaces', {}, 'TENANT_REQUIRED', how))
    const ids = (await api.get('listWorkspaces', {}, how)).map(({ id }: { id: string }) => id)
    expect(ids).toEqual(expect.arrayContaining([app.tenant.workspaceId, app.sibling.workspaceId]))
    expect(ids).not.toContain(app.other.workspaceId)
  })

  test('workspaces are the caller’s own, filtered by a part of the name', async () => {
    const { workspace } = await api.get('getMe')
    expect(await api.get('listWorkspaces')).toEqual([workspace])
    const find = (name_contains: string) => api.get('listWorkspaces', { name_contains })
    expect(await find(workspace.name.slice(1).toUpperCase())).toEqual([workspace])
    expect(await find('%')).toEqual([])
    const over = await api.call('listWorkspaces', { limit: 101 })
    expect(over.code).toBe('VALIDATION_FAILED')
  })

  test('machines neither read the organization nor list workspaces', async () => {
    for (const key of [await listenerKey(app, await listener(app)), await agentKey(app, 'bot')])
      for (const verb of ['getMe', 'listWorkspaces'] as const) await api.fails(verb, {}, 'FORBIDDEN', { key })
  })
})
