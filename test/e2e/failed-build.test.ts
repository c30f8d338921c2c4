// A branch moves after a failed build: a real server with its worker, and real git.
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { type AgentRepository, agentRepository } from '../support/repository.ts'

let app: TestApp
let repository: AgentRepository

beforeAll(async () => {
  app = await testApp({ settings: { WORKER: 'on', APPS_PORT: '0' } })
  repository = await agentRepository(path.join(app.dataDir, 'git'), 'agent')
})
afterAll(async () => {
  await app?.close()
  await repository?.remove()
})

const revisions = async (id: string) => (await app.rest('GET', `/v2/deployments/${id}/revisions`)).body.resources
const newest = async (id: string) => (await revisions(id))[0]
const reaches = (id: string, status: string, attempt = 1) =>
  expect.poll(() => newest(id), { timeout: 60_000, interval: 100 }).toMatchObject({ status, attempt })

/** The commit of the newest revision in GraphQL. */
async function byGraphQL(id: string): Promise<string | null> {
  const { data } = await app.gql(
    'query ($id: ID!) { deployment(id: $id) { sourceRevisionConfig { repoCommitSha } } }',
    { id },
  )
  return data.deployment.sourceRevisionConfig.repoCommitSha
}

async function buildLog(id: string, revision: string): Promise<string[]> {
  const answer = await app.rest('GET', `/v2/deployments/${id}/revisions/${revision}/logs?type=build`)
  return answer.body.logs.map(({ message }: { message: string }) => message)
}

test('a redeploy of a failed revision builds the same commit; only a new revision builds the branch’s new commit', async () => {
  const first = await repository.push('broken')
  const source_config = { repo_url: repository.url, build_command: 'grep mended greeting.txt' }
  const { id } = await gitDeployment(app, { source_config })
  await reaches(id, 'BUILD_FAILED')
  const failed = await newest(id)
  expect(failed.source_revision_config).toMatchObject({ repo_ref: 'main', repo_commit_sha: first })
  expect(await byGraphQL(id)).toBe(first)

  const second = await repository.push('mended')
  const again = await app.rest('POST', `/v2/deployments/${id}/revisions/${failed.id}/redeploy`)
  expect(again.status, again.text).toBeLessThan(300)
  await reaches(id, 'BUILD_FAILED', 2)
  expect(await newest(id)).toMatchObject({
    id: failed.id,
    status_message: failed.status_message,
    source_revision_config: { repo_commit_sha: first },
  })
  const log = await buildLog(id, failed.id)
  expect(log).toContain(`Fetching ${first}`)
  expect(log.join('\n')).not.toContain(second)

  const body = { source_revision_config: { repo_ref: 'main' } }
  expect((await app.rest('PATCH', `/v2/deployments/${id}`, { body })).status).toBe(200)
  await reaches(id, 'DEPLOYED')
  const commits = (await revisions(id)).map((one: typeof failed) => one.source_revision_config.repo_commit_sha)
  expect(commits).toEqual([second, first])
}, 120_000)
