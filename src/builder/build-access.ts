/**
 * Fetches from the control plane what a build on this machine needs (dataplane/build/source-access.ts): the push target,
 * repository credentials, tarballs. Requested once for each claim, when the build starts.
 */
import type { SourceAccess } from '../dataplane/build/source-access.ts'
import type { ImageStore } from '../dataplane/builder/image-store.ts'
import { StepFailure } from '../dataplane/output/step-failure.ts'
import type { LeasedClaim } from '../dataplane/runtimes/runtime.ts'
import { knownReason } from '../domain/errors/reasons.ts'
import { type BuilderAccess, builderAccessAnswer } from '../domain/protocol/builders.ts'
import { type Caller, ControlPlaneUnreachable } from '../listener/call.ts'
import { read } from '../listener/control-plane.ts'
import { backoff, retry } from '../platform/async/retry.ts'

/** extra time compared with other calls: a git provider can be slow */
const PROVIDER_TIMEOUT_MS = 30_000

interface Build {
  claim: LeasedClaim
  revisionId: string
  access: Promise<BuilderAccess> | null
}

export interface BuildAccess {
  sources: SourceAccess
  store: ImageStore
  /** Runs `work`. The other members only work for this deployment and revision during `work`. */
  withClaim<T>(claim: LeasedClaim, revisionId: string, work: () => Promise<T>): Promise<T>
}

/** Retries while the control plane is unreachable, until the build is cancelled. */
export function createBuildAccess({ call, download }: Pick<Caller, 'call' | 'download'>): BuildAccess {
  /** by deployment id: each deployment has at most one build at a time */
  const builds = new Map<string, Build>()

  async function accessOf(deploymentId: string, signal: AbortSignal): Promise<BuilderAccess> {
    const build = builds.get(deploymentId)
    if (!build) throw new Error('This deployment has no build here')
    build.access ??= retryWhileUnreachable(signal, () => {
      const { claimId, token } = build.claim
      return call(`claims/${claimId}/access`, { token }, { waitMs: PROVIDER_TIMEOUT_MS, signal })
    }).then((answer) => read(builderAccessAnswer, answer))
    const access = await build.access
    if (access.failure)
      throw new StepFailure(knownReason(access.failure.reason, 'BUILD_FAILED'), access.failure.message)
    return access
  }

  return {
    async withClaim(claim, revisionId, work) {
      const { id } = claim.deployment
      builds.set(id, { claim, revisionId, access: null })
      try {
        return await work()
      } finally {
        builds.delete(id)
      }
    },

    sources: {
      gitCredentials: async (deploymentId, signal) => (await accessOf(deploymentId, signal)).git,
      async tarball(revisionId, signal) {
        const build = [...builds.values()].find((one) => one.revisionId === revisionId)
        if (!build) throw new Error('This revision has no build here')
        const { claimId, token } = build.claim
        return retryWhileUnreachable(signal, () =>
          download(
            `claims/${claimId}/tarball?token=${token}`,
            signal,
            (message) => new StepFailure('TARBALL_UNAVAILABLE', message),
          ),
        )
      },
      // a builder runs no images
      imageCredentials: async () => null,
    },

    store: {
      async repository(deploymentId, signal) {
        const { repository } = await accessOf(deploymentId, signal)
        if (!repository) return null
        const { name, insecure, ...credentials } = repository
        return { name, insecure, credentials }
      },
      // servers prune the registry
      prune: async () => undefined,
    },
  }
}

const retryWhileUnreachable = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> =>
  retry(work, {
    signal,
    when: (error) => error instanceof ControlPlaneUnreachable,
    pause: (retries) => backoff(retries, 250, 5000),
  })
