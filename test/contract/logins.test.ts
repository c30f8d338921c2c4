/** A person's decision about a login of the command line (docs/api-rules.md#logins). */
import { beforeAll, expect, test } from 'vitest'
import { NOWHERE, useRestApp } from '../rest/support.ts'
import { begunLogin, expireLogin, pollLogin } from '../sessions/login-steps.ts'
import { asPage, signIn } from '../sessions/support.ts'
import { agentKey, builderKey, listener, listenerKey } from '../support/factories.ts'
import { overBoth } from './api.ts'

const app = useRestApp(() => ({ settings: { ADDRESS_RATE_LIMIT: '0' } }))
let machines: string[] = []
beforeAll(async () => {
  machines = [await listenerKey(app, await listener(app)), await agentKey(app, 'x'), await builderKey(app)]
})
const begin = async () => {
  // a login of an earlier test must not count for the limit of the address
  await app.core.db.login.deleteMany()
  return begunLogin(app)
}
const deployer = () => ({ key: app.keys.deployer })
const outcome = async (login: { id: string; secret: string }) => (await pollLogin(app, login)).body

overBoth(app, (api) => {
  test('a person finds the login by its code, in any spelling, and approves it', async () => {
    const login = await begin()
    for (const code of [login.code, login.code.toLowerCase().replace('-', ''), ` ${login.code} `])
      expect(await api.get('lookUpLogin', { code }, deployer())).toEqual({
        ...{ id: login.id, name: 'ada-laptop', address: '127.0.0.1', status: 'pending', role: null },
        ...{ created_at: expect.any(String), expires_at: login.expires_at },
      })
    const approved = await api.get('approveLogin', { login_id: login.id }, deployer())
    expect(approved).toMatchObject({ id: login.id, status: 'approved', role: 'deployer' })
    expect(await outcome(login)).toMatchObject({ status: 'approved', role: 'deployer' })
    expect(await api.get('lookUpLogin', { code: login.code }, deployer())).toMatchObject({ status: 'approved' })
  })

  test('a session in a browser approves, and the key belongs to the person who signed in', async () => {
    const login = await begin()
    const page = await signIn(app, { api_key: app.keys.admin })
    await api.get('approveLogin', { login_id: login.id, role: 'admin' }, asPage(page))
    const { key, workspace_id } = await outcome(login)
    expect(workspace_id).toBe(app.tenant.workspaceId)
    const { data } = await app.gql('{ me { role apiKey { name owner organizationWide } } }', {}, { key })
    expect(data.me).toMatchObject({ role: 'admin', apiKey: { name: 'ada-laptop', organizationWide: false } })
    expect(data.me.apiKey.owner).toEqual(expect.any(String))
  })

  test('a person of the whole organization gives a key of one workspace', async () => {
    const login = await begin()
    const how = { key: app.keys.organization, tenant: app.sibling.workspaceId }
    await api.get('approveLogin', { login_id: login.id }, how)
    const { key, workspace_id } = await outcome(login)
    expect(workspace_id).toBe(app.sibling.workspaceId)
    const elsewhere = { key, tenant: app.tenant.workspaceId }
    expect((await app.rest('GET', '/v2/deployments', elsewhere)).status).toBe(403)
  })

  test.each([
    ['viewer', 'deployer', 'viewer'],
    ['deployer', 'deployer', 'deployer'],
    ['admin', 'deployer', null],
    ['viewer', 'admin', 'viewer'],
    ['admin', 'admin', 'admin'],
  ] as const)('a key of the role %s, approved by a %s', async (role, approver, given) => {
    const login = await begin()
    const call = { login_id: login.id, role }
    const how = { key: app.keys[approver] }
    if (given) await api.get('approveLogin', call, how)
    else await api.fails('approveLogin', call, 'FORBIDDEN', how)
    expect(await outcome(login)).toMatchObject({ status: given ? 'approved' : 'pending', role: given })
  })

  test('viewers and keys of machines neither see nor decide a login', async () => {
    const { id, code } = await begin()
    for (const key of [app.keys.viewer, app.keys.secretsReader, ...machines.slice(0, 2)]) {
      await api.fails('lookUpLogin', { code }, 'FORBIDDEN', { key })
      await api.fails('approveLogin', { login_id: id, role: 'viewer' }, 'FORBIDDEN', { key })
      await api.fails('refuseLogin', { login_id: id }, 'FORBIDDEN', { key })
    }
    await api.fails('approveLogin', { login_id: id }, 'UNAUTHENTICATED', { key: null })
  })

  test('after the decision the login exists only in the workspace of the decision', async () => {
    const login = await begin()
    await api.get('refuseLogin', { login_id: login.id }, deployer())
    for (const key of [app.other.keys.admin, app.sibling.keys.admin]) {
      await api.fails('lookUpLogin', { code: login.code }, 'NOT_FOUND', { key })
      await api.fails('approveLogin', { login_id: login.id }, 'NOT_FOUND', { key })
      await api.fails('refuseLogin', { login_id: login.id }, 'NOT_FOUND', { key })
    }
  })

  test('a login is decided once, also by two people at the same moment', async () => {
    const login = await begin()
    const roles = ['viewer', 'deployer', 'viewer', 'deployer']
    const calls = await Promise.all([
      ...roles.map((role) => api.call('approveLogin', { login_id: login.id, role }, deployer())),
      api.call('refuseLogin', { login_id: login.id }),
    ])
    expect(calls.map(({ code }) => code ?? 'decided').sort()).toEqual([...Array(4).fill('CONFLICT'), 'decided'])
    const decided = calls.find(({ ok }) => ok)!.value
    expect(await outcome(login)).toMatchObject({ status: decided.status, role: decided.role })
  })

  test('a refused or an expired login can’t be approved', async () => {
    const refused = await begin()
    await api.get('refuseLogin', { login_id: refused.id }, deployer())
    const again = await api.fails('approveLogin', { login_id: refused.id }, 'CONFLICT', deployer())
    expect(again.message).toBe('The login was already refused.')
    const late = await begin()
    await expireLogin(app, late)
    expect(await api.get('lookUpLogin', { code: late.code }, deployer())).toMatchObject({ status: 'expired' })
    const { message } = await api.fails('approveLogin', { login_id: late.id }, 'CONFLICT', deployer())
    expect(message).toBe('The login has expired. Begin another one on the machine.')
    await api.fails('refuseLogin', { login_id: late.id }, 'CONFLICT', deployer())
  })

  test('a repeated approval with its Idempotency-Key gets the first answer', async () => {
    const login = await begin()
    const how = { ...deployer(), headers: { 'idempotency-key': `approve-${login.id}` } }
    const first = await api.get('approveLogin', { login_id: login.id }, how)
    expect(await api.get('approveLogin', { login_id: login.id }, how)).toEqual(first)
  })

  test('wrong input is refused with its place', async () => {
    const { id } = await begin()
    await api.refuses('approveLogin', { login_id: id, role: 'listener' }, ['role enum'], deployer())
    await api.refuses('approveLogin', { login_id: 'x' }, ['login_id uuid_parsing'], deployer())
    await api.refuses('lookUpLogin', { code: 'AEIO-UAEI' }, ['code value_error'], deployer())
    await api.fails('approveLogin', { login_id: NOWHERE }, 'NOT_FOUND', deployer())
    await api.fails('refuseLogin', { login_id: NOWHERE }, 'NOT_FOUND', deployer())
    await api.fails('lookUpLogin', { code: 'BBBB-BBBB' }, 'NOT_FOUND', deployer())
  })
})
