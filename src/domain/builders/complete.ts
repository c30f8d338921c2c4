/**
 * Records how a build ended, as its builder reports under its token. It shares the rules of a holder's report
 * (claims/complete.ts) and wakes the holder for the next step.
 */
import { loadedAggregate } from '../claims/claim-state.ts'
import { recordReport } from '../claims/complete.ts'
import { rejectIfAny, type Violation } from '../errors/errors.ts'
import { violationUnless } from '../parsing/parse.ts'
import { repositoryOf } from '../ports/registry.ts'
import type { BuilderCompleteRequest } from '../protocol/builders.ts'
import type { LockedDeployment } from '../repositories/locks.ts'
import { offerAgain } from '../rollouts/builder-offers.ts'
import { type Core, transaction } from '../transaction/context.ts'
import { type BuilderScope, lockBuild, returningLostTry } from './lease.ts'

/** Whether the report counted. A repeated report gets the same answer. Throws ClaimLostError and ValidationError. */
export function completeBuild(core: Core, scope: BuilderScope, request: BuilderCompleteRequest): Promise<boolean> {
  const record = () =>
    transaction(core, async (tx) => {
      const claimState = await lockBuild(tx, scope, request, { over: true })
      const { deployment, requestedStep: step } = claimState
      rejectIfAny(violations(core, deployment, request))
      const { recorded, deployment: now } = await recordReport(core, tx, claimState, deployment, step, {
        ...request,
        stepId: step.id,
      })
      const isOpen = loadedAggregate(tx, deployment).steps.some(
        ({ id, finishedAt }) => id === step.id && finishedAt === null,
      )
      // the build was stopped; any builder may take it
      if (isOpen) await offerAgain(tx, now, step)
      return recorded
    })
  return returningLostTry(core, scope, request, record)
}

/** The artifact must be in the deployment's own repository, so a builder can't put other images into pods. */
function violations(
  core: Core,
  deployment: LockedDeployment,
  { outcome, artifact, repoCommitSha }: BuilderCompleteRequest,
): Violation[] {
  if (outcome !== 'succeeded') return []
  const repository = `image:${core.registry?.host}/${repositoryOf(deployment)}@sha256:`
  const digest = artifact?.startsWith(repository) ? artifact.slice(repository.length) : ''
  const isOwn = /^[0-9a-f]{64}$/.test(digest)
  // other sources have no commits
  const hasCommit = Boolean(repoCommitSha) || deployment.source !== 'gitprovider'
  const missing = 'Required for a build of a git repository that succeeded.'
  return [
    ...violationUnless(isOwn, 'artifact', `Must be ${repository}… with the digest of what was pushed.`),
    ...violationUnless(hasCommit, 'repo_commit_sha', missing, 'missing'),
  ]
}
