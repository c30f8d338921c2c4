/** What a runtime that can only run images asks of whoever builds them. */
import type { Runtime } from './runtime.ts'

export interface SourceBuilder {
  /** As a runtime does, from the source on: the artifact is an image in the registry. */
  build: Runtime['build']
  /** Removes the images that builds of the deployment have pushed, but these artifacts. */
  prune(deploymentId: string, keepArtifacts: readonly string[]): Promise<void>
  /** The same for a deployment that is gone. Never throws. */
  remove(deploymentId: string): Promise<void>
  /** Ends all that a step has started. Throws when that can't be. */
  destroy(stepId: string): Promise<void>
  close(): void
}
