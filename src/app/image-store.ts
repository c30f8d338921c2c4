/**
 * Image store of this server's builds (dataplane/builder/image-store.ts): the configured registry, with tokens signed by
 * us.
 */
import { CACHE, type ImageStore, TAG_PREFIX } from '../dataplane/builder/image-store.ts'
import { type Registry, repositoryOf } from '../domain/ports/registry.ts'
import type { Core } from '../domain/transaction/context.ts'

/** Maximum tags of a deployment's build cache, one for each layer; beyond that the cache is cleared. */
const MAX_CACHE_TAGS = 300

/** `seconds`: longest duration of a build. */
export function createImageStore({ registry, db }: Core, seconds: number): ImageStore {
  /** Null without a registry, or when people push its images themselves. */
  async function repositoryFor(id: string): Promise<string | null> {
    const select = { id: true, workspaceId: true, source: true }
    const deployment = registry && (await db.deployment.findUnique({ where: { id }, select }))
    if (deployment?.source !== 'gitprovider' && deployment?.source !== 'internal_source') return null
    return repositoryOf(deployment)
  }

  return {
    async repository(deploymentId) {
      const repository = await repositoryFor(deploymentId)
      if (!registry || !repository) return null
      const access = [{ repository, actions: ['pull', 'push'] as const }]
      return {
        name: `${registry.host}/${repository}`,
        insecure: registry.insecure,
        credentials: {
          username: 'token',
          password: await registry.sign(`deployment:${deploymentId}`, access, seconds),
        },
      }
    },

    async prune(deploymentId, keepDigests, signal) {
      const repository = await repositoryFor(deploymentId)
      if (!registry || !repository) return
      await removeImagesBut(registry, repository, keepDigests, signal)
    },
  }
}

/** Removes built images except `keepDigests`. Without any digest to keep, it also removes the build cache. */
export async function removeImagesBut(
  registry: Registry,
  repository: string,
  keepDigests: string[],
  signal: AbortSignal,
): Promise<void> {
  const built = (await registry.tags(repository)).filter((tag) => tag.startsWith(TAG_PREFIX))
  await removeTags(registry, repository, built, keepDigests, signal)
  const cache = `${repository}/${CACHE}`
  const layers = await registry.tags(cache)
  if (keepDigests.length === 0 || layers.length > MAX_CACHE_TAGS) await removeTags(registry, cache, layers, [], signal)
}

async function removeTags(
  registry: Registry,
  repository: string,
  tags: string[],
  keep: string[],
  signal: AbortSignal,
): Promise<void> {
  const removed = new Set(keep)
  for (const tag of tags) {
    signal.throwIfAborted()
    const digest = await registry.digestOf(repository, tag)
    if (digest === null || removed.has(digest)) continue
    // a registry that refuses one removal refuses all
    if (!(await registry.remove(repository, digest))) return
    removed.add(digest)
  }
}

/** Credentials for a cluster to pull images built for a deployment from its repository. */
export const pullCredentialsOf =
  (registry: Registry) =>
  ({ deploymentId, workspaceId }: { deploymentId: string; workspaceId: string }, image: string) => {
    const repository = repositoryOf({ id: deploymentId, workspaceId })
    if (!image.startsWith(`${registry.host}/${repository}@`)) return null
    return { registry: registry.host, username: 'token', password: registry.pullPassword(repository) }
  }
