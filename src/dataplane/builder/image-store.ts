/** Where built images are pushed: the interface between the image builder and its server. */
import type { Credentials } from '../build/source-access.ts'

/** A deployment's repository in the registry; only its builds push to it. */
export interface ImageRepository {
  /** name with the registry's host, without tag and digest */
  name: string
  insecure: boolean
  /** valid for this repository and those below it, for the longest build */
  credentials: Credentials
}

export interface ImageStore {
  /** Null without a registry: images stay in this machine's engine. */
  repository(deploymentId: string, signal: AbortSignal): Promise<ImageRepository | null>
  /**
   * Removes the deployment's pushed images except these digests, as far as the registry allows. If the signal ends it, the next
   * call continues.
   */
  prune(deploymentId: string, keepDigests: string[], signal: AbortSignal): Promise<void>
}

export const NO_REGISTRY: ImageStore = { repository: async () => null, prune: async () => undefined }

/** Prefix of tags that builds push; other images in a repository are never removed. */
export const TAG_PREFIX = 'build-'
/** Repository below a deployment's for cached layers of its builds. */
export const CACHE = 'cache'
