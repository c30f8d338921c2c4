/** Where this server's builds push images to (see dataplane/builder/image-store.ts): the registry of the settings, with tokens of ours. */
import { CACHE, type ImageStore, TAG_PREFIX } from '../dataplane/builder/image-store.ts'
import { type Registry, repositoryOf } from '../domain/ports/registry.ts'
import type { Core } from '../domain/transaction/context.ts'

/** Tags that the cache of a deployment has at most, one for each layer; with more of them it begins anew. */
const MAX_CACHE_TAGS = 300

/** `seconds`: as long as a build may take. */
export function createImageStore({ registry, db }: Core, seconds: number): ImageStore {
  /** Null: there is no registry, or its images are pushed by people. */
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

/** Of what builds push to a repository and keep below it, removes all but these; with none of these the cache, too. */
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
    // one that allows none allows no other
    if (!(await registry.remove(repository, digest))) return
    removed.add(digest)
  }
}

/** What a cluster pulls with the images that were built for a deployment, which are in its repository. */
export const pullCredentialsOf =
  (registry: Registry) =>
  ({ deploymentId, workspaceId }: { deploymentId: string; workspaceId: string }, image: string) => {
    const repository = repositoryOf({ id: deploymentId, workspaceId })
    if (!image.startsWith(`${registry.host}/${repository}@`)) return null
    return { registry: registry.host, username: 'token', password: registry.pullPassword(repository) }
  }
