/** Removal of an integration: readers no longer see it, and its deployments report that. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bodies, putStatus } from '../rest/support.ts'
import type { FakeInstallation, FakeRepository } from '../support/gitprovider/open.ts'
import { type InstallApp, installApp } from './support.ts'

let app: InstallApp
let repository: FakeRepository
beforeAll(async () => {
  app = await installApp({ oauth: false })
  repository = await app.provider.repository('acme/agent', { disk: false })
})
afterAll(() => app.close())

const install = (): FakeInstallation => app.provider.install('acme', { repositories: [repository] })
const remove = (id: string, key?: string) => app.call('DELETE', `/v1/integrations/gitprovider/${id}`, { key })
const git = (id: string) => {
  const body = bodies.gitprovider(id)
  return { ...body, source_config: { ...body.source_config, repo_url: repository.url } }
}

test('an admin removes an integration from the list, from node and for new deployments, with one event', async () => {
  const id = await app.connect(install())
  expect(await remove(id)).toMatchObject({ status: 204, text: '' })
  const { body } = await app.call('GET', '/v1/integrations/gitprovider/install')
  expect(body.map((one: { id: string }) => one.id)).toEqual([app.tenant.integrationId])
  const { data } = await app.gql('query ($id: ID!) { node(id: $id) { id } gitIntegrations { id } }', { id })
  expect(data).toEqual({ node: null, gitIntegrations: [{ id: app.tenant.integrationId }] })
  expect((await app.call('GET', `/v1/integrations/gitprovider/${id}/repos`)).status).toBe(404)
  expect((await app.call('POST', '/v2/deployments', { body: git(id) })).status).toBe(404)
  expect((await remove(id)).status).toBe(404)
  const events = await app.core.db.event.findMany({ where: { subjectId: id }, orderBy: { sequence: 'asc' } })
  expect(events.map(({ type }) => type)).toEqual(['integration.created', 'integration.removed'])
})

test('only an admin removes an integration, only of the own tenant, and never the server’s own directory', async () => {
  const id = await app.connect(install())
  for (const key of [app.keys.viewer, app.keys.deployer]) expect((await remove(id, key)).status).toBe(403)
  for (const { keys } of [app.sibling, app.other]) expect((await remove(id, keys.admin)).status).toBe(404)
  expect((await remove('nope')).status).toBe(422)
  expect((await remove(app.tenant.integrationId)).status).toBe(409)
  const mutation = `mutation ($id: ID!) { removeGitIntegration(input: { integrationId: $id }) {
    __typename ... on RemoveGitIntegrationSuccess { integrationId } } }`
  const outcome = async (which: string) => (await app.gql(mutation, { id: which })).data.removeGitIntegration
  expect(await outcome(app.tenant.integrationId)).toEqual({ __typename: 'ConflictError' })
  expect(await outcome(id)).toEqual({ __typename: 'RemoveGitIntegrationSuccess', integrationId: id })
  expect(await outcome(id)).toEqual({ __typename: 'NotFoundError' })
})

test('one of two concurrent removals succeeds', async () => {
  const id = await app.connect(install())
  const answers = await Promise.all([remove(id), remove(id)])
  expect(answers.map(({ status }) => status).sort()).toEqual([204, 404])
  expect(await app.core.db.event.count({ where: { subjectId: id, type: 'integration.removed' } })).toBe(1)
})

test('deployments report the removed integration until the installation is connected again', async () => {
  const installed = install()
  const id = await app.connect(installed)
  const made = await app.create(git(id))
  await putStatus(app.core, made.latest_revision_id, 'DEPLOYED')
  await app.core.db.deployment.update({
    where: { id: made.id },
    data: {
      activeRevisionId: made.latest_revision_id,
      claimId: randomUUID(),
      leaseHolder: 'somebody',
      leaseExpiresAt: new Date(Date.now() + 600_000),
      health: { ready: 1, desired: 1, message: null, observedAt: new Date().toISOString() },
    },
  })
  const said = async () => {
    const { body } = await app.call('GET', `/v2/deployments/${made.id}`)
    const query = 'query ($id: ID!) { deployment(id: $id) { statusMessage } }'
    expect((await app.gql(query, { id: made.id })).data.deployment.statusMessage).toBe(body.status_message)
    return body.status_message
  }
  expect(await said()).toBeNull()
  await remove(id)
  expect(await said()).toContain("Its git integration 'acme' was removed")
  expect(await app.connect(installed)).toBe(id)
  expect(await said()).toBeNull()
})
