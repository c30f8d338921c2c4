/**
 * Deployments held by the servers' own workers, so that a paused server loses leases. Their builds fail because the
 * repository does not exist.
 */
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Calls } from './calls.ts'
import type { Place } from './place.ts'
import { pause } from './waiting.ts'

export interface Builds {
  /** ids of the deployments */
  ids: readonly string[]
  stop(): Promise<void>
}

export async function startBuilds(place: Place, calls: Calls, count: number): Promise<Builds> {
  const [integration] = await calls.untilDone({ method: 'GET', path: '/v1/integrations/gitprovider/install' })
  const ids: string[] = []
  let stopped = false
  for (let i = 0; i < count; i++) {
    const body = {
      name: `built-${i}`,
      source: 'gitprovider',
      source_config: {
        integration_id: integration.id,
        repo_url: pathToFileURL(path.join(place.gitDirectory, 'none.git')).href,
      },
      source_revision_config: { repo_ref: 'main', graph_config_path: 'graph.json' },
      secrets: [],
    }
    ids.push((await calls.untilDone({ method: 'POST', path: '/v2/deployments', body })).id)
  }
  async function build(id: string): Promise<void> {
    while (!stopped) {
      const [newest] =
        (await calls.once({ method: 'GET', path: `/v2/deployments/${id}/revisions?limit=1` }))?.resources ?? []
      if (newest?.status === 'BUILD_FAILED')
        await calls.once({ method: 'POST', path: `/v2/deployments/${id}/revisions`, body: {} })
      await pause(200)
    }
  }
  const running = ids.map(build)
  return {
    ids,
    async stop() {
      stopped = true
      await Promise.all(running)
    },
  }
}
