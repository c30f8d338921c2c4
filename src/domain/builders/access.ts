/**
 * What a build needs besides its claim: the push target and the source. Requested when the build begins, because the
 * credentials are short-lived.
 */
import type { Readable } from 'node:stream'
import { ClaimLostError, NotFoundError } from '../errors/errors.ts'
import { repositoryOf } from '../ports/registry.ts'
import type { BuilderAccess } from '../protocol/builders.ts'
import type { HeldClaim } from '../repositories/lease.ts'
import type { Core } from '../transaction/context.ts'
import type { Explanation } from '../values/explanation.ts'
import { type BuilderScope, buildHeldUnderSql, returningLostTry } from './lease.ts'

/** How long a call waits for a git provider that is down. */
const MAX_WAIT_MS = 20_000

interface Building {
  deploymentId: string
  workspaceId: string
  revisionId: string
  source: string
  /** until the build's deadline; credentials expire with it */
  secondsLeft: number
}

/** Throws ClaimLostError. */
export async function accessOfBuild(
  core: Core,
  scope: BuilderScope,
  claim: HeldClaim,
  signal: AbortSignal,
): Promise<BuilderAccess> {
  const build = await findBuild(core, scope, claim)
  const { registry } = core
  if (!registry) return { ...NOTHING, failure: NO_REGISTRY }
  const found =
    build.source === 'gitprovider' && core.sources
      ? await core.sources.git(build.deploymentId, signal, MAX_WAIT_MS)
      : { credentials: null }
  if ('failure' in found) return { ...NOTHING, failure: found.failure }
  const repository = repositoryOf({ id: build.deploymentId, workspaceId: build.workspaceId })
  const access = [{ repository, actions: ['pull', 'push'] as const }]
  return {
    repository: {
      name: `${registry.host}/${repository}`,
      insecure: registry.insecure,
      username: 'token',
      password: await registry.sign(`deployment:${build.deploymentId}`, access, build.secondsLeft),
    },
    git: found.credentials,
    tarball: build.source === 'internal_source',
    failure: null,
  }
}

const NO_REGISTRY: Explanation = {
  reason: 'NO_BUILDER',
  message: 'REGISTRY_URL is not set on the server any more, so an image has no place to be pushed to.',
}
const NOTHING = { repository: null, git: null, tarball: false }

/** The bytes of the build's tarball. Throws ClaimLostError, and NotFoundError with advice for people. */
export async function tarballOfBuild(
  core: Core,
  scope: BuilderScope,
  claim: HeldClaim,
  signal: AbortSignal,
): Promise<Readable> {
  const { revisionId } = await findBuild(core, scope, claim)
  const found = await core.sources?.tarball(revisionId, signal)
  if (!found || 'failure' in found) throw new NotFoundError('Revision', revisionId, found?.failure.message)
  return found.bytes
}

function findBuild(core: Core, scope: BuilderScope, claim: HeldClaim): Promise<Building> {
  return returningLostTry(core, scope, claim, async () => {
    const [build] = await core.db.$queryRaw<Building[]>`
      SELECT d.id AS "deploymentId", d.workspace_id AS "workspaceId", s.revision_id AS "revisionId", d.source,
        greatest(1, ceil(extract(epoch FROM s.deadline_at - now())))::int AS "secondsLeft"
      FROM steps s JOIN deployments d ON d.id = s.deployment_id WHERE ${buildHeldUnderSql(scope, claim)}`
    if (!build) throw new ClaimLostError()
    return build
  })
}
