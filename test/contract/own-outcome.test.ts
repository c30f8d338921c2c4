/** A write returns its own outcome during concurrent writes (docs/api-rules.md#errors), half of them over each transport. */
import { expect, test } from 'vitest'
import { mutate } from '../graphql/mutate.ts'
import { bodies, useRestApp } from '../rest/support.ts'
import { listener } from '../support/factories.ts'
import { storedProvider } from '../support/oauth-tokens.ts'
import { type Api, bothOf, overBoth } from './api.ts'

const app = useRestApp()

const git = () => app.create(bodies.gitprovider(app.tenant.integrationId))
const refOf = async (id: string) => (await app.core.db.revision.findUniqueOrThrow({ where: { id } })).repoRef
/** Runs a call for each number at the same time. */
const all = <T>(count: number, call: (api: Api, n: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, n) => call(bothOf(app)[n % 2]!, n)))
const changeOf = (n: number) => ({
  source_revision_config: { repo_ref: `branch-${n}` },
  secrets: [{ name: 'MINE', value: `value-of-${n}` }],
})

test.each([
  ['with', () => app.keys.admin, (n: number) => `value-of-${n}`],
  ['without', () => app.keys.deployer, () => '••••••••'],
])(
  'of 20 callers %s secrets:read who change a deployment each gets its own revision and secrets',
  async (_, key, value) => {
    const { id: deployment_id } = await git()
    const told = await all(20, async (api, n) => {
      const changed = await api.call('updateDeployment', { deployment_id, ...changeOf(n) }, { key: key() })
      const { latest_revision_id, source_revision_config, secrets } = changed.value
      expect([changed.revision, source_revision_config.repo_ref]).toEqual([latest_revision_id, `branch-${n}`])
      expect(secrets).toEqual([{ name: 'MINE', value: value(n) }])
      expect(await refOf(latest_revision_id)).toBe(`branch-${n}`)
      return latest_revision_id
    })
    expect(new Set(told).size).toBe(20)
  },
)

test('concurrent new revisions are each returned to their creator', async () => {
  const { id: deployment_id } = await git()
  const told = await all(20, async (api, n) => {
    const { value, revision } = await api.call('createRevision', { deployment_id, ...changeOf(n) })
    expect([value.id, value.source_revision_config.repo_ref]).toEqual([revision, `branch-${n}`])
    expect(await refOf(value.id)).toBe(`branch-${n}`)
    return value.id
  })
  expect(new Set(told).size).toBe(20)
})

test('a change without a revision names none, and returns its values', async () => {
  const { id: deployment_id, latest_revision_id } = await app.create(bodies.external_container())
  await all(10, async (api, n) => {
    const source_config = { custom_url: `https://agent-${n}.example.com/` }
    const { value, revision } = await api.call('updateDeployment', { deployment_id, source_config })
    expect([revision, value.latest_revision_id]).toEqual([null, latest_revision_id])
    expect(value.source_config).toMatchObject(source_config)
  })
})

overBoth(app, (api) => {
  test('create, redeploy and interrupt name their revision', async () => {
    const created = await api.call('createDeployment', bodies.external_container())
    const { id: deployment_id, latest_revision_id: first } = created.value
    expect(created.revision).toBe(first)
    const input = { deployment_id, revision_id: first }
    const interrupted = await api.call('interruptRevision', input)
    expect([interrupted.revision, interrupted.value.status]).toEqual([first, 'INTERRUPTED'])
    const { revision: second } = await api.call('updateDeployment', { deployment_id, secrets: changeOf(1).secrets })
    // latest does not move
    const redeployed = await api.call('redeployRevision', input)
    expect([redeployed.revision, redeployed.value.latest_revision_id]).toEqual([first, second])
    expect(await api.get('getRevision', input)).toMatchObject({ status: 'CREATING', attempt: 2 })
  })
})

test('a mutation without selected rows reads nothing back', async () => {
  const { id: deploymentId } = await app.create(bodies.external_container())
  const update = (selection: string) => mutate(app, 'updateDeployment', selection, { deploymentId, secrets: [] })
  expect(await update('__typename')).toEqual({ __typename: 'UpdateDeploymentSuccess' })
  const aliased = 'a: deployment { latestRevision { id } } b: deployment { name latestRevision { number } }'
  expect(await update(aliased)).toMatchObject({
    a: { latestRevision: { id: expect.any(String) } },
    b: { latestRevision: { number: 3 } },
  })
})

test('callers who change one listener, one OAuth provider or the tags of one deployment get their own change', async () => {
  const { id: listener_id } = await listener(app)
  const { providerId: provider_id } = await storedProvider(app)
  const { id: deployment_id } = await git()
  await all(10, async (api, n) => {
    const name = `mine-${n}`
    expect((await api.get('updateListener', { listener_id, version: name })).version).toBe(name)
    expect((await api.get('updateOAuthProvider', { provider_id, name })).name).toBe(name)
    if (api.over === 'REST') return
    const tags = [{ key: 'owner', value: name }]
    expect((await api.get('setDeploymentTags', { deployment_id, tags })).tags).toEqual(tags)
  })
})
