/** Calls the REST API of a server in another process, or of any of several servers. */
import { Follower } from './follower.ts'

/** `url`: the server's address, read at each call. Throws an unsuccessful answer. */
export const restOf =
  (url: () => string, key: string) =>
  // biome-ignore lint/suspicious/noExplicitAny: a body as REST presents it
  async (method: string, target: string, body?: unknown): Promise<any> => {
    const response = await fetch(url() + target, {
      method,
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${target}: ${response.status} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }

/** Deploys the agent of a repository, waits until it is live, and returns its ids and its address. */
export async function deployAgent(server: () => string, key: string, repositoryUrl: string) {
  const rest = restOf(server, key)
  const [integration] = await rest('GET', '/v1/integrations/gitprovider/install')
  const { id, latest_revision_id: revisionId } = await rest('POST', '/v2/deployments', {
    name: 'goes-on',
    source: 'gitprovider',
    source_config: { integration_id: integration.id, repo_url: repositoryUrl },
    source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
    secrets: [],
    access: 'public',
  })
  const follower = new Follower(() => [server()], key, id)
  await follower.until((event) => event.to === 'DEPLOYED')
  await follower.close()
  const { url } = await rest('GET', `/v2/deployments/${id}`)
  return { id, revisionId, url }
}
