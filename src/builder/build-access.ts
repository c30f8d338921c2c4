/**
 * What a build on this machine gets from the control plane that it is for (see dataplane/build/source-access.ts): where to
 * push, credentials for the repository, the bytes of a tarball. It is asked when the build begins, once for each claim.
 */
import type { SourceAccess } from '../dataplane/build/source-access.ts'
import type { ImageStore } from '../dataplane/builder/image-store.ts'
import { StepFailure } from '../dataplane/output/step-failure.ts'
import type { LeasedClaim } from '../dataplane/runtimes/runtime.ts'
import { type BuilderAccess, builderAccessAnswer } from '../domain/protocol/builders.ts'
import { knownReason } from '../domain/values/reasons.ts'
import type { Caller } from '../listener/call.ts'
import { ControlPlaneUnreachable } from '../listener/errors.ts'
import { read } from '../listener/messages.ts'
import { backoff, retry } from '../platform/async/retry.ts'

/** ms that it may take beyond other calls: a git provider may be slow */
const PROVIDER_TIMEOUT_MS = 30_000

interface Build {
  claim: LeasedClaim
  revisionId: string
  access: Promise<BuilderAccess> | null
}

export interface BuildAccess {
  sources: SourceAccess
  store: ImageStore
  /** Does `work`, during which the others can be asked for this deployment and revision. */
  withClaim<T>(claim: LeasedClaim, revisionId: string, work: () => Promise<T>): Promise<T>
}

/** A control plane that is away is asked again for as long as the build may go on. */
export function createBuildAccess({ call, download }: Pick<Caller, 'call' | 'download'>): BuildAccess {
  /** by deployment: there is one build of each at a time */
  const builds = new Map<string, Build>()

  /** Throws StepFailure when the build can't be. */
  async function accessOf(deploymentId: string, signal: AbortSignal): Promise<BuilderAccess> {
    const build = builds.get(deploymentId)
    if (!build) throw new Error('Nothing of this deployment is being built')
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
        if (!build) throw new Error('Nothing of this revision is being built')
        const { claimId, token } = build.claim
        return retryWhileUnreachable(signal, () =>
          download(
            `claims/${claimId}/tarball?token=${token}`,
            signal,
            (said) => new StepFailure('TARBALL_UNAVAILABLE', said),
          ),
        )
      },
      // nothing is run here
      imageCredentials: async () => null,
    },

    store: {
      async repository(deploymentId, signal) {
        const { repository } = await accessOf(deploymentId, signal)
        if (!repository) return null
        const { name, insecure, ...credentials } = repository
        return { name, insecure, credentials }
      },
      // what is kept in the registry, servers know
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
