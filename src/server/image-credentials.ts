/** Credentials for pulling the image of a deployment from our own registry. */
import type { Credentials } from '../dataplane/build/source-access.ts'
import type { Core } from '../domain/context.ts'
import { parseImageReference } from '../domain/deployments/image-reference.ts'
import { coversRepository, repositoryOf } from '../domain/registry/registry.ts'

const SECONDS = 10 * 60

/** A token for the deployment's own repository or the one below it that the image is in, only to pull; null for every other image: it is pulled without credentials. */
export async function imageCredentials(
  { db, registry }: Core,
  deploymentId: string,
  imageUri: string,
): Promise<Credentials | null> {
  const image = parseImageReference(imageUri)
  if (!registry || typeof image === 'string' || image.host?.toLowerCase() !== registry.host) return null
  const deployment = await db.deployment.findUnique({ where: { id: deploymentId } })
  if (deployment?.source !== 'internal_container' || !coversRepository(repositoryOf(deployment), image.path))
    return null
  const access = [{ repository: image.path, actions: ['pull'] as const }]
  return { username: 'token', password: await registry.sign(`deployment:${deploymentId}`, access, SECONDS) }
}
