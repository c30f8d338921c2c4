/** The runtime of a builder's worker: it only builds. */
import type { Runtime } from '../dataplane/runtimes/runtime.ts'
import type { SourceBuilder } from '../dataplane/runtimes/source-builder.ts'
import type { BuildAccess } from './build-access.ts'

export function createBuildRuntime(images: SourceBuilder, access: BuildAccess): Runtime {
  return {
    build: (claim, step, ...more) =>
      access.withClaim(claim, step.revision.id, () => images.build(claim, step, ...more)),
    destroy: images.destroy,
    async close() {
      images.close()
    },
    provision: unsupportedStep,
    deploy: unsupportedStep,
    teardown: unsupportedStep,
    // no agent serves here, and the machine is not shared with other workers
    ensure() {},
    async prune() {},
    async drop() {},
    health: () => undefined,
    registerHolder: async () => async () => {},
    async releaseDeadHolders() {},
  }
}

async function unsupportedStep(): Promise<never> {
  throw new Error('A builder was given a step other than BUILD')
}
