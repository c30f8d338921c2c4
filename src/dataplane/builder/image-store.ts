/** Where built images go: what the builder asks of the server that it is part of. */
import type { Credentials } from '../build/source-access.ts'

/** The repository of one deployment in a registry, which nobody else pushes to. */
export interface ImageRepository {
  /** with the registry's host: a tag or a digest behind it makes a reference */
  name: string
  /** the registry is reached without TLS */
  insecure: boolean
  /** good for this repository and those below it, for as long as a build may take */
  credentials: Credentials
}

export interface ImageStore {
  /** Null: there is no registry, and images stay in the engine of this machine. */
  repository(deploymentId: string, signal: AbortSignal): Promise<ImageRepository | null>
  /** Removes the images that builds have pushed for the deployment, but those with these digests, as far as the registry lets us. What the signal ends is gone on with next time. */
  prune(deploymentId: string, keepDigests: string[], signal: AbortSignal): Promise<void>
}

/** Images stay where they are built. */
export const NO_REGISTRY: ImageStore = { repository: async () => null, prune: async () => undefined }

/** Tags of what builds push begin with it: whatever else is in a repository is not ours to remove. */
export const TAG_PREFIX = 'build-'
/** Below the repository of a deployment: layers of its builds. */
export const CACHE = 'cache'
