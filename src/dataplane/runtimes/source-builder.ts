/** Builds images from source, for runtimes that only run images. */
import type { Runtime } from './runtime.ts'

export interface SourceBuilder {
  /** Like Runtime.build; the artifact is an image in the registry. */
  build: Runtime['build']
  /** Removes pushed images of the deployment, except `keepArtifacts`. */
  prune(deploymentId: string, keepArtifacts: readonly string[]): Promise<void>
  /** Removes all pushed images of a deleted deployment. Never throws. */
  remove(deploymentId: string): Promise<void>
  /** Ends all processes of a step. Throws when one can't be ended. */
  destroy(stepId: string): Promise<void>
  close(): void
}
