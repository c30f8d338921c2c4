/**
 * Conditional writes (docs/api-rules.md#conditional-requests): `If-Match` and `ifVersion` behave the same for every
 * resource that callers edit.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import { mutate } from '../graphql/mutate.ts'
import { bodies, uniqueName, useRestApp } from '../rest/support.ts'
import { listener, listenerKey, storedRule } from '../support/factories.ts'
import { claimOne, workOff } from '../support/holder.ts'
import { storedProvider, storedToken } from '../support/oauth-tokens.ts'
import { type Api, bothOf, overBoth, type VerbName } from './api.ts'

const app = useRestApp()

const FAILED = 'PRECONDITION_FAILED'
const git = () => app.create(bodies.gitprovider(app.tenant.integrationId))
const cpu = (cores: number) => ({ source_config: { resource_spec: { cpu: cores } } })
const claim = (id: string) => claimOne(localControlPlane(app.core), id)

interface Kind {
  /** The member that names it in the input of its verbs. */
  id: string
  make(): Promise<string>
  /** A change of it. */
  edit(n: number): object
}

const KINDS: Record<string, Kind> = {
  Deployment: {
    id: 'deployment_id',
    make: async () => (await git()).id,
    edit: (n) => ({ source_config: { install_command: `npm ci # ${n}` } }),
  },
  Listener: { id: 'listener_id', make: async () => (await listener(app)).id, edit: (n) => ({ version: `v${n}` }) },
  OAuthProvider: {
    id: 'provider_id',
    make: async () => (await storedProvider(app)).providerId,
    edit: (n) => ({ name: `n${n}` }),
  },
  AlertRule: { id: 'alert_rule_id', make: async () => (await storedRule(app)).id, edit: (n) => ({ name: `n${n}` }) },
  WebhookEndpoint: {
    id: 'webhook_endpoint_id',
    async make() {
      const { workspaceId } = app.tenant
      const data = { workspaceId, name: 'x', url: 'https://hooks.example', form: 'standard', secret: 'x', cursor: 0 }
      return (await app.core.db.webhookEndpoint.create({ data: { ...data, enabled: false } })).id
    },
    edit: (n) => ({ name: `n${n}` }),
  },
}

const versionOf = async (api: Api, id: string, kind = 'Deployment') =>
  (await api.call(`get${kind}` as VerbName, { [KINDS[kind]!.id]: id })).version!

overBoth(app, (api) => {
  const update = (deployment_id: string, changes: object, version?: number, key?: string) =>
    api.call('updateDeployment', { deployment_id, ...changes }, { version, key })

  test.each(Object.entries(KINDS))('a %s is edited and deleted only at the named version', async (name, kind) => {
    const id = await kind.make()
    const call = (verb: string, version?: number, more: object = {}) =>
      api.call(`${verb}${name}` as VerbName, { [kind.id]: id, ...more }, { version })
    const first = await versionOf(api, id, name)
    const edited = await call('update', first, kind.edit(1))
    expect(edited.ok, edited.answer.text).toBe(true)
    const second = edited.version!
    expect(second).toBeGreaterThan(first)
    // the returned version is the next one, over both transports
    for (const each of bothOf(app)) expect(await versionOf(each, id, name)).toBe(second)
    const stale = await call('update', first, kind.edit(2))
    expect(stale).toMatchObject({ code: FAILED, version: api.over === 'REST' ? null : second })
    // a call that changes nothing does not change the version
    expect((await call('update', undefined, kind.edit(1))).version).toBe(second)
    const atOnce = await Promise.all([3, 4, 5].map((n) => call('update', second, kind.edit(n))))
    expect(atOnce.map(({ code }) => code ?? 'done').sort()).toEqual([FAILED, FAILED, 'done'])
    expect(await versionOf(api, id, name)).toBe(atOnce.find(({ ok }) => ok)!.version)
    expect((await call('delete', second)).code).toBe(FAILED)
    expect((await call('delete', await versionOf(api, id, name))).ok).toBe(true)
  })

  test('every write of a deployment with another version is refused, and changes nothing', async () => {
    const { id: deployment_id, latest_revision_id: revision_id } = await git()
    await update(deployment_id, cpu(2))
    const state = async () => [
      await api.call('getDeployment', { deployment_id }).then(({ value, version }) => [value, version]),
      await api.get('listRevisions', { deployment_id }),
    ]
    const before = await state()
    const current = await versionOf(api, deployment_id)
    for (const [verb, input] of [
      ['updateDeployment', { ...cpu(4), source_revision_config: { repo_ref: 'other' } }],
      ['createRevision', {}],
      ['redeployRevision', { revision_id }],
      ['deleteDeployment', {}],
    ] as const) {
      const { code, message } = await api.call(verb, { deployment_id, ...input }, { version: 1 })
      expect([verb, code]).toEqual([verb, FAILED])
      expect(message).toContain(`version ${current}`)
    }
    expect(await state()).toEqual(before)
    const made = await api.call('createRevision', { deployment_id }, { version: current })
    expect(made.ok).toBe(true)
    const next = await versionOf(api, deployment_id)
    expect(next).toBeGreaterThan(current)
    await api.call('interruptRevision', { deployment_id, revision_id: made.revision! })
    const again = { deployment_id, revision_id }
    expect((await api.call('redeployRevision', again, { version: next })).version).toBeGreaterThan(next)
  })

  test('the version counts every change by a caller, not work, an interrupt, and a call without a change', async () => {
    const { id: deployment_id, latest_revision_id: revision_id } = await git()
    let last = await versionOf(api, deployment_id)
    const counts = async (yes: boolean, work: () => Promise<unknown>) => {
      await work()
      const next = await versionOf(api, deployment_id)
      expect(next > last, String(work)).toBe(yes)
      last = next
    }
    const held = await claim(deployment_id)
    await counts(false, () => workOff(localControlPlane(app.core), held))
    const beat = { claims: [{ claimId: held.claimId, token: held.token, idle: true }], leaseSeconds: 60 }
    await counts(false, () => localControlPlane(app.core).heartbeat(beat))
    await counts(true, () => update(deployment_id, cpu(2), last))
    await counts(false, () => update(deployment_id, cpu(2)))
    await counts(true, () => api.get('createRevision', { deployment_id }))
    const open = (await api.get('getDeployment', { deployment_id })).latest_revision_id
    await counts(false, () => api.get('interruptRevision', { deployment_id, revision_id: open }))
    await counts(true, () => api.get('redeployRevision', { deployment_id, revision_id }))
    await counts(true, () => api.get('deleteDeployment', { deployment_id }))
  })

  test('the version of a listener does not count its calls', async () => {
    const { id, workspaceId } = await listener(app)
    const before = await versionOf(api, id, 'Listener')
    const body = { holder: randomUUID(), max: 1, version: '9' }
    const key = await listenerKey(app, { id, workspaceId })
    expect((await app.call('POST', `/v2/listeners/${id}/claims`, { key, body })).status).toBe(200)
    expect(await versionOf(api, id, 'Listener')).toBe(before)
  })

  test('the order of checks is role, shape, 404, version, rules', async () => {
    const { id } = await git()
    await claim(id)
    const name = uniqueName()
    expect((await update(id, { name }, 99, app.keys.viewer)).code).toBe('FORBIDDEN')
    expect((await update('no-uuid', { name }, 99)).code).toBe('VALIDATION_FAILED')
    expect((await update(randomUUID(), { name }, 99)).code).toBe('NOT_FOUND')
    expect((await update(id, { name }, 99, app.other.keys.admin)).code).toBe('NOT_FOUND')
    expect((await update(id, { name }, 99)).code).toBe(FAILED)
    await api.get('deleteDeployment', { deployment_id: id })
    expect((await update(id, {}, 99)).code).toBe(FAILED)
  })

  test('a deletion whose answer was lost can be repeated with the same version', async () => {
    const { id: deployment_id } = await git()
    await claim(deployment_id)
    const version = await versionOf(api, deployment_id)
    const remove = (more: object = {}) => api.call('deleteDeployment', { deployment_id, ...more }, { version })
    expect([(await remove()).ok, (await remove()).ok]).toEqual([true, true])
    // this would change something
    expect((await remove({ force: true })).code).toBe(FAILED)
  })

  test('a provider with tokens is deleted by force only without a version', async () => {
    const provider = await storedProvider(app)
    const token = await storedToken(app, { provider })
    const provider_id = provider.providerId
    const how = { version: await versionOf(api, provider_id, 'OAuthProvider') }
    expect((await api.call('deleteOAuthProvider', { provider_id }, how)).code).toBe('CONFLICT')
    await api.refuses('deleteOAuthProvider', { provider_id, force: true }, ['force value_error'], how)
    expect(await app.core.db.oAuthToken.count({ where: { id: token.id } })).toBe(1)
  })
})

test('versions from one transport are valid in the other', async () => {
  const { id: deployment_id } = await git()
  const [rest, graphql] = bothOf(app)
  let version = await versionOf(rest!, deployment_id)
  for (const [n, each] of [graphql!, rest!, graphql!].entries()) {
    const edited = await each.call('updateDeployment', { deployment_id, ...cpu(n + 1) }, { version })
    expect(edited.ok, edited.answer.text).toBe(true)
    version = edited.version!
  }
})

describe('over GraphQL', () => {
  test('tags are conditional, and return the next version', async () => {
    const { id } = await git()
    const tag = (ifVersion: number) =>
      mutate(app, 'setDeploymentTags', 'deployment { version }', {
        ...{ deploymentId: id, ifVersion },
        tags: [{ key: 'team', value: 'a' }],
      })
    expect(await tag(99)).toMatchObject({ __typename: 'PreconditionFailedError' })
    expect((await tag(1)).deployment.version).toBeGreaterThan(1)
  })

  test('answers are as private as those of REST', async () => {
    const query = new URLSearchParams({ query: '{ viewer { role } }' })
    const { status, headers } = await app.rest('GET', `/graphql?${query}`, { headers: { accept: 'application/json' } })
    expect(status).toBe(200)
    expect(headers.get('vary')).toContain('X-Api-Key, Authorization, X-Tenant-Id')
    expect(headers.get('cache-control')).toBe('private, no-cache')
  })

  test('the condition headers of HTTP are refused', async () => {
    const headers = { 'if-match': '"1"', 'if-unmodified-since': new Date().toUTCString() }
    const answer = await app.gql('{ viewer { role } }', {}, { headers })
    expect(answer.status).toBe(422)
    expect(answer.errors![0].extensions).toMatchObject({
      code: 'VALIDATION_FAILED',
      issues: ['If-Match', 'If-Unmodified-Since'].map((name) => ({ path: ['header', name], code: 'extra_forbidden' })),
    })
  })
})
