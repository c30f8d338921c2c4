/** Build on push: the branch's head at the provider decides, in any order of deliveries (issue 4). */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { testApp } from '../support/app.ts'
import { type PushFixture, pushFixture } from './push-support.ts'

let world: PushFixture
beforeAll(async () => {
  world = await pushFixture()
  await world.commit()
})
afterAll(() => world.close())

test('a push creates a revision that is pinned to its commit', async () => {
  const id = await world.deploy()
  const edit = async () => (await world.app.rest('GET', `/v2/deployments/${id}`)).headers.get('etag')!.split('-')[0]
  const before = await edit()
  const head = await world.commit()
  await world.deliverPush(head)
  await world.settled()
  const [revision] = (await world.app.rest('GET', `/v2/deployments/${id}/revisions`)).body.resources
  expect(revision.source_revision_config).toMatchObject({ repo_ref: 'main', repo_commit_sha: head })
  expect(await world.commits(id)).toEqual([null, head])
  // a later edit must read the new revision first
  expect(await edit()).not.toBe(before)
})

test('a PATCH after a push follows the branch again, and so does the next push', async () => {
  const id = await world.deploy()
  const head = await world.commit()
  await world.deliverPush(head)
  await world.settled()
  const body = { source_revision_config: { graph_config_path: 'graph.json' } }
  expect((await world.app.rest('PATCH', `/v2/deployments/${id}`, { body })).status).toBe(200)
  await world.deliverPush(head)
  await world.settled()
  expect(await world.commits(id)).toEqual([null, head, null, head])
})

test('a replayed, repeated or older delivery creates no revision', async () => {
  const id = await world.deploy()
  const before = await world.commit()
  const head = await world.commit()
  const delivery = randomUUID()
  // the newer delivery arrives first
  await world.deliverPush(head, { id: delivery })
  await world.settled()
  await world.deliverPush(before)
  await world.deliverPush(head, { id: delivery })
  await world.deliverPush(head)
  await world.settled()
  await world.deliverPush(before)
  await world.settled()
  expect(await world.commits(id)).toEqual([null, head])
})

test('a commit that the provider does not have is never rolled out', async () => {
  const id = await world.deploy()
  const head = await world.commit()
  await world.deliverPush('f'.repeat(40))
  await world.settled()
  expect(await world.commits(id)).toEqual([null, head])
})

test('a push of a tag, a deleted branch, or another branch, repository or installation changes nothing', async () => {
  const { provider } = world
  const id = await world.deploy({ branch: 'quiet' })
  const head = await world.commit('quiet')
  const other = await provider.repository('acme/other')
  world.installed.repositories.push(other)
  const stranger = provider.install('stranger', { repositories: [world.repo] })
  const looks = world.branchLookups()
  await world.deliverPush(head, { branch: 'refs/tags/quiet' })
  await world.deliverPush(null, { branch: 'quiet' })
  await world.deliverPush(head, { branch: 'silent' })
  await world.deliverPush(head, { branch: 'quiet', repo: other })
  await world.deliverPush(head, { branch: 'quiet', installed: stranger })
  await world.settled()
  expect(await world.commits(id)).toEqual([null])
  expect(world.branchLookups()).toBe(looks)
})

test('a deleted deployment and one that does not build on push stay unchanged', async () => {
  const manual = await world.deploy({ branch: 'held', buildOnPush: false })
  const deleted = await world.deploy({ branch: 'held' })
  await world.app.rest('DELETE', `/v2/deployments/${deleted}`)
  await world.deliverPush(await world.commit('held'), { branch: 'held' })
  await world.settled()
  expect(await world.commits(manual)).toEqual([null])
  expect(await world.commits(deleted)).toEqual([null])
})

test('another tenant’s deployments of the same repository follow only their own installation', async () => {
  const { provider, app, repo } = world
  const theirs = provider.install('acme', { repositories: [repo] })
  const integrationId = await world.integrate(theirs, app.other)
  const branch = 'shared'
  const head = await world.commit(branch)
  const mine = await world.deploy({ branch })
  const other = await world.deploy({ branch, integrationId, key: app.other.keys.admin })
  await world.deliverPush(head, { branch })
  await world.settled()
  expect([await world.commits(mine), await world.commits(other)]).toEqual([[null, head], [null]])
  await world.deliverPush(head, { branch, installed: theirs })
  await world.settled()
  expect([await world.commits(mine), await world.commits(other)]).toEqual([
    [null, head],
    [null, head],
  ])
})

test('a push waits while the provider is unavailable; then the newest commit is built', async () => {
  const branch = 'outage'
  await world.commit(branch)
  const id = await world.deploy({ branch })
  world.provider.outage('500')
  const delivery = randomUUID()
  await world.deliverPush(await world.commit(branch), { branch, id: delivery })
  await world.eventually(async () => {
    const kept = await world.core.db.webhookDelivery.findUniqueOrThrow({ where: { id: delivery } })
    return kept.tries === 1 && kept.leasedUntil === null
  })
  const head = await world.commit(branch)
  world.provider.outage(null)
  await world.settled()
  expect(await world.commits(id)).toEqual([null, head])
})

test('a suspended or deleted installation builds nothing', async () => {
  const { provider, webhook, repo, core } = world
  const installed = provider.install('leaving', { repositories: [repo] })
  const branch = 'leaving'
  const integrationId = await world.integrate(installed)
  await world.commit(branch)
  const id = await world.deploy({ branch, integrationId })
  const state = () => core.db.integration.findUniqueOrThrow({ where: { id: integrationId } })

  installed.suspended = true
  await provider.deliver(webhook, 'installation', provider.payload.installation(installed, 'suspend'))
  await world.settled()
  expect((await state()).suspendedAt).not.toBeNull()
  await world.deliverPush(await world.commit(branch), { branch, installed })
  await world.settled()
  expect(await world.commits(id)).toEqual([null])

  installed.suspended = false
  await provider.deliver(webhook, 'installation', provider.payload.installation(installed, 'unsuspend'))
  await world.settled()
  expect((await state()).suspendedAt).toBeNull()

  const payload = provider.payload.installation(installed, 'deleted')
  provider.uninstall(installed)
  await provider.deliver(webhook, 'installation', payload)
  await world.settled()
  expect((await state()).removedAt).not.toBeNull()
})

test('a forged uninstallation event removes nothing', async () => {
  const { provider, webhook, installed } = world
  await provider.deliver(webhook, 'installation', provider.payload.installation(installed, 'deleted'))
  await world.settled()
  expect(await world.core.db.integration.count({ where: { installationId: installed.id, removedAt: null } })).toBe(1)
})

test('after 60 deliveries of five pushes to two servers the newest commit is deployed, and no commit is built twice', async () => {
  const branch = 'burst'
  await world.commit(branch)
  const id = await world.deploy({ branch })
  const second = await testApp({ settings: world.provider.settings, beside: world.app })
  const urls = [world.webhook, `${second.url}/v1/integrations/gitprovider/webhook`]
  const looks = world.branchLookups()
  let head = ''
  const sent: Promise<Response>[] = []
  for (let push = 0; push < 5; push++) {
    head = await world.commit(branch)
    const payload = world.provider.payload.push(world.repo, world.installed, { branch, after: head })
    // each push is delivered twelve times with different ids, to both servers
    for (let n = 0; n < 12; n++) sent.push(world.provider.deliver(urls[n % 2]!, 'push', payload))
  }
  for (const answer of await Promise.all(sent)) expect(answer.status).toBe(202)
  await world.settled()
  const commits = await world.commits(id)
  expect(commits.at(-1)).toBe(head)
  expect(new Set(commits).size).toBe(commits.length)
  expect(world.branchLookups() - looks).toBeLessThan(40)
  const open = await world.core.db.revision.findMany({ where: { deploymentId: id, status: { not: 'SKIPPED' } } })
  expect(open.map(({ repoCommitSha }) => repoCommitSha)).toEqual([head])
  await second.close()
}, 90_000)
