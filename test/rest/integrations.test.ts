/** GET /v1/integrations/…: the git integrations and their repositories (docs/sources.md#git-providers), at both paths. */
import { execFile } from 'node:child_process'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { useRestApp, violations } from './support.ts'

const run = promisify(execFile)
const app = useRestApp()
let folder: string
const bare = (name: string, branch = 'main') =>
  run('git', ['init', '--quiet', '--bare', `--initial-branch=${branch}`, path.join(folder, name)])

beforeAll(async () => {
  folder = app.core.settings.gitDirectory
  await bare('agent.git')
  await bare('acme/bot.git', 'trunk')
  await bare('plain')
  await run('git', ['init', '--quiet', path.join(folder, 'worktree')])
  await bare('one/two/three/four/too-deep.git')
  await mkdir(path.join(folder, 'empty'))
  await writeFile(path.join(folder, 'README'), 'no repository')
  await symlink(path.join(folder, 'acme'), path.join(folder, 'link'))
})

describe.each(['/v1/integrations/gitprovider', '/v1/integrations/forge/gitprovider'])('%s', (base) => {
  const repos = (id: string, key?: string) => app.call('GET', `${base}/${id}/repos`, { key })

  test('install lists the integrations of the workspace, as a bare array', async () => {
    const { status, body } = await app.call('GET', `${base}/install`, { key: app.keys.viewer })
    expect(status).toBe(200)
    expect(body).toEqual([{ id: app.tenant.integrationId, installation_id: null, name: expect.any(String) }])
  })

  test('repos lists the bare repositories below the folder, as a bare array', async () => {
    const { status, body } = await repos(app.tenant.integrationId, app.keys.viewer)
    expect(status).toBe(200)
    const url = (name: string) => pathToFileURL(path.join(folder, name)).href
    const { name } = (await app.call('GET', `${base}/install`)).body[0]
    const repository = { host_integration_id: app.tenant.integrationId, id: expect.any(Number) }
    expect(body).toEqual([
      { ...repository, name: 'bot', owner: 'acme', url: url('acme/bot.git'), default_branch: 'trunk' },
      { ...repository, name: 'agent', owner: name, url: url('agent.git'), default_branch: 'main' },
      { ...repository, name: 'plain', owner: name, url: url('plain'), default_branch: 'main' },
    ])
    const ids = body.map((found: { id: number }) => found.id)
    expect(new Set(ids).size).toBe(3)
    expect(ids.every(Number.isSafeInteger)).toBe(true)
    expect((await repos(app.tenant.integrationId)).body).toEqual(body)
  })

  test('a deployment accepts the listed values', async () => {
    const [repository] = (await repos(app.tenant.integrationId)).body
    const created = await app.create({
      name: `from-${base.length}`,
      source: 'gitprovider',
      source_config: { integration_id: repository.host_integration_id, repo_url: repository.url },
      source_revision_config: { repo_ref: repository.default_branch, graph_config_path: 'graph.json' },
      secrets: [],
    })
    expect(created.source_config.repo_url).toBe(repository.url)
  })

  test('an unknown integration, or another tenant’s, is 404; an invalid id 422', async () => {
    for (const id of ['11111111-1111-1111-1111-111111111111', app.sibling.integrationId, app.other.integrationId]) {
      const answer = await repos(id)
      expect([answer.status, answer.body.detail]).toEqual([404, `Integration ID ${id} not found.`])
    }
    expect(violations(await repos('nope'))).toEqual(['path.integration_id uuid_parsing'])
  })
})

test('a missing folder is an empty list', async () => {
  await rm(folder, { recursive: true })
  const { body } = await app.call('GET', `/v1/integrations/gitprovider/${app.tenant.integrationId}/repos`)
  expect(body).toEqual([])
})
