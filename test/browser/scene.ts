/**
 * A workspace as a team has it: running agents, one rolling out, one failing, one waiting, and some history. For
 * pictures, and for tests of pages with content.
 */
import type { AgentRepository } from '../support/repository.ts'
import { type Cluster, openCluster } from './cluster.ts'
import type { OwnServer } from './server.ts'

export interface Scene {
  /** Deployment ids by name. */
  ids: Record<string, string>
  /** The revision of `triage-agent` whose build has failed. */
  failed: string
  /** API keys of this workspace's viewer and deployer, and of the admin of another one. */
  keys: { viewer: string; deployer: string; stranger: string }
  cluster: Cluster
}

const REGISTRY = 'registry.example.com/acme'
const SPEC = { min_scale: 3, max_scale: 6, cpu: 1, memory_mb: 1024 }

/** Takes about ten seconds, because two of the agents are really built and run. */
export async function setScene(server: OwnServer): Promise<Scene> {
  const [{ id: integrationId }] = await server.rest('GET', '/v1/integrations/gitprovider/install')
  const [ci, viewer, cluster] = await Promise.all([
    server.newKey('deployer', 'CI'),
    server.newKey('viewer', 'wall'),
    openCluster(server, 'prod-eu'),
  ])
  const other = server.cli('server', 'workspaces', 'create', '--name', 'Research')
  const stranger = other.then((id) => server.newKey('admin', 'research', '--workspace', id))
  const ids: Record<string, string> = {}

  const fromGit = async (name: string, url: string, source_config: object = {}) => {
    const { id } = await server.rest('POST', '/v2/deployments', {
      name,
      source: 'gitprovider',
      source_config: { integration_id: integrationId, repo_url: url, ...source_config },
      source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
      secrets: [{ name: 'OPENAI_API_KEY', value: 'sk-not-a-real-one' }],
    })
    ids[name] = id
    return id as string
  }
  const ofImage = async (name: string, versions: number, source_config: object = {}) => {
    const image = (version: number) => ({ image_uri: `${REGISTRY}/${name}:1.${version}.0` })
    const { id } = await server.rest('POST', '/v2/deployments', {
      name,
      source: 'external_container',
      source_config: { listener_id: cluster.id, ...source_config },
      source_revision_config: image(1),
      secrets: [{ name: 'OPENAI_API_KEY', value: 'sk-not-a-real-one' }],
    })
    ids[name] = id
    await cluster.turn()
    for (let version = 2; version <= versions; version++) {
      await server.rest('PATCH', `/v2/deployments/${id}`, { source_revision_config: image(version) }, ci)
      await cluster.turn()
    }
    return id as string
  }
  /** Waits until its newest revision has ended. */
  const ended = async (id: string) => {
    const { latest_revision_id } = await server.rest('GET', `/v2/deployments/${id}`)
    await server.rest('GET', `/v2/deployments/${id}/revisions/${latest_revision_id}?wait=60`)
    return latest_revision_id as string
  }

  const support = await server.repository('support-agent')
  const triage = await server.repository('triage-agent')
  const supportId = await fromGit('support-agent', support.url)
  const triageId = await fromGit('triage-agent', triage.url, { build_command: 'grep -q Hello greeting.txt' })
  cluster.play('search-agent', {
    health: { ready: 2, desired: 3, message: '2 of 3 replicas are ready: a node was lost.', reason: 'NOT_READY' },
  })
  cluster.play('billing-agent', { health: { ready: 3, desired: 3, message: null, reason: null } })
  await ofImage('billing-agent', 6, { resource_spec: SPEC })
  await ofImage('search-agent', 2, { resource_spec: SPEC })
  await ofImage('intake-agent', 3)
  await ofImage('report-agent', 1)
  await ofImage('review-agent', 2)

  // one in progress, and some that failed
  cluster.play('research-agent', {
    waits: { reason: 'PULLING_IMAGE', message: `Pulling ${REGISTRY}/research-agent:1.1.0.` },
  })
  await ofImage('research-agent', 1)
  cluster.play('report-agent', {
    fails: { reason: 'IMAGE_PULL_FAILED', message: `${REGISTRY}/report-agent:1.2.0: manifest unknown.` },
  })
  await server.rest('PATCH', `/v2/deployments/${ids['report-agent']}`, {
    source_revision_config: { image_uri: `${REGISTRY}/report-agent:1.2.0` },
  })
  await cluster.turn()

  const pushed = async (id: string, repository: AgentRepository, message: string) => {
    await ended(id)
    await repository.push(message)
    await server.rest('PATCH', `/v2/deployments/${id}`, { source_revision_config: { repo_ref: 'main' } }, ci)
    await ended(id)
  }
  await Promise.all([
    pushed(supportId, support, 'Answer in the language of the question'),
    // its build fails, the previous revision keeps serving
    pushed(triageId, triage, 'Rewrite the prompt'),
  ])
  const keys = { viewer, deployer: ci, stranger: await stranger }
  return { ids, failed: await ended(triageId), keys, cluster }
}
