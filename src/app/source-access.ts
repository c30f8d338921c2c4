/**
 * Gives builds access to sources (dataplane/build/source-access.ts): builds on this machine, and builders through their
 * server. A deployment's repository gets a token of its integration, valid for an hour at most.
 */
import type { Readable } from 'node:stream'
import type { GitCredentials, ImageCredentials, SourceAccess } from '../dataplane/build/source-access.ts'
import { StepFailure } from '../dataplane/output/step-failure.ts'
import { ProviderUnavailableError } from '../domain/ports/git-provider.ts'
import { coversRepository, repositoryOf } from '../domain/ports/registry.ts'
import { type BuildSources, ObjectChangedError, type Unavailable } from '../domain/ports/tarball-storage.ts'
import { recordRepositoryId } from '../domain/repositories/deployment.ts'
import type { Core } from '../domain/transaction/context.ts'
import { parseImageReference } from '../domain/values/image-reference.ts'
import { backoff, retry } from '../platform/async/retry.ts'
import { withTimeout } from '../platform/async/time-limit.ts'

export function createSourceAccess(core: Core): SourceAccess {
  return {
    gitCredentials: (deploymentId, signal) => gitCredentials(core, deploymentId, signal),
    tarball: (revisionId, signal) => tarball(core, revisionId, signal),
    imageCredentials: (deploymentId, imageUri) => imageCredentials(core, deploymentId, imageUri),
  }
}

/** The same for remote builders: failures that people can fix are returned, not thrown. */
export function createBuildSources(core: Core): BuildSources {
  return {
    git: (deploymentId, signal, ms) =>
      orFailure(async () => ({ credentials: await gitCredentials(core, deploymentId, signal, ms) })),
    tarball: (revisionId, signal) => orFailure(async () => ({ bytes: await tarball(core, revisionId, signal) })),
  }
}

async function orFailure<T>(ask: () => Promise<T>): Promise<T | Unavailable> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error
    return { failure: { reason: error.reason, message: error.message } }
  }
}

const TOKEN_SECONDS = 10 * 60

/**
 * A pull token for the deployment's repository or one below it. Null for every other image: it is pulled without
 * credentials.
 */
async function imageCredentials(
  { db, registry }: Core,
  deploymentId: string,
  imageUri: string,
): Promise<ImageCredentials | null> {
  const image = parseImageReference(imageUri)
  if (!registry || typeof image === 'string' || image.host?.toLowerCase() !== registry.host) return null
  const deployment = await db.deployment.findUnique({ where: { id: deploymentId } })
  if (!deployment || deployment.source === 'external_container') return null
  if (!coversRepository(repositoryOf(deployment), image.path)) return null
  const access = [{ repository: image.path, actions: ['pull'] as const }]
  const password = await registry.sign(`deployment:${deploymentId}`, access, TOKEN_SECONDS)
  return { username: 'token', password, insecure: registry.insecure }
}

const AGAIN = 'upload it again and set source_revision_config.source_tarball_path'

/** Rejects with StepFailure when the tarball was removed or replaced. */
async function tarball(core: Core, revisionId: string, signal: AbortSignal): Promise<Readable> {
  const revision = await core.db.revision.findUnique({ where: { id: revisionId }, select: { sourceTarballPath: true } })
  const upload = await core.db.upload.findFirst({
    where: { objectPath: revision?.sourceTarballPath ?? '', removedAt: null, checksum: { not: null } },
  })
  try {
    const bytes = upload && (await core.tarballs.open(upload.objectPath, upload.checksum!, signal))
    if (bytes) return bytes
  } catch (error) {
    if (error instanceof ObjectChangedError)
      throw new StepFailure(
        'TARBALL_UNAVAILABLE',
        `The source tarball was changed after the revision took it: ${AGAIN}.`,
      )
    throw error
  }
  throw new StepFailure('TARBALL_UNAVAILABLE', `The source tarball was removed: ${AGAIN}.`)
}

/** User name that the provider expects with an installation token. */
const USERNAME = 'x-access-token'

/** how long a build waits for an unavailable provider */
const MAX_WAIT_MS = 60_000

/** Null: the repository needs no credentials. Throws StepFailure that says what to do. */
export async function gitCredentials(
  core: Core,
  deploymentId: string,
  signal: AbortSignal,
  longestWait = MAX_WAIT_MS,
): Promise<GitCredentials | null> {
  const { integration, repoUrl } = await core.db.deployment.findUniqueOrThrow({
    where: { id: deploymentId },
    select: { repoUrl: true, integration: true },
  })
  if (!integration || integration.kind === 'directory') return null
  if (integration.removedAt)
    throw new StepFailure(
      'INTEGRATION_UNAVAILABLE',
      'Its git integration was removed: install it again, and create the deployment again with the new one.',
    )
  if (integration.suspendedAt)
    throw new StepFailure(
      'INTEGRATION_UNAVAILABLE',
      'Its git integration is suspended at the git provider: resume it there, then redeploy.',
    )
  const provider = core.gitProvider
  if (!provider)
    throw new StepFailure(
      'INTEGRATION_UNAVAILABLE',
      'No git provider is configured on this server: see its GITPROVIDER_ settings.',
    )
  const repository = provider.repositoryOf(repoUrl ?? '')
  if (!repository)
    throw new StepFailure(
      'INTEGRATION_UNAVAILABLE',
      `${repoUrl} is not at the git provider of its integration: use one of its repositories.`,
    )
  const found = await retryWhileUnavailable(longestWait, signal, (over) =>
    provider.cloneToken(Number(integration.installationId), repository, over),
  )
  if (found === null)
    throw new StepFailure(
      'INTEGRATION_UNAVAILABLE',
      `The installation does not reach the repository ${repository}: add the repository to it at the git provider, then redeploy. If the repository moved to another account, create the deployment again with an integration of that account.`,
    )
  // lets a push after a rename find the deployment
  await recordRepositoryId(core, deploymentId, found.repositoryId)
  const credentials = { username: USERNAME, password: found.token }
  if (sameName(found.repository, repository)) return credentials
  return { ...credentials, repoUrl: new URL(`/${found.repository}.git`, repoUrl!).href }
}

const sameName = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

/** Retries while the provider is unavailable. After `ms`, the step fails with the provider's last error. */
async function retryWhileUnavailable<T>(
  ms: number,
  signal: AbortSignal,
  ask: (over: AbortSignal) => Promise<T>,
): Promise<T> {
  const giveUpAt = performance.now() + ms
  const isSilent = (error: unknown) => (error as Error).name === 'TimeoutError'
  try {
    return await retry(() => withTimeout(Math.max(1000, giveUpAt - performance.now()), signal, ask), {
      withinMs: ms,
      signal,
      when: (error) => error instanceof ProviderUnavailableError || isSilent(error),
      pause: (retries) => backoff(retries, 1000, 10_000),
    })
  } catch (error) {
    signal.throwIfAborted()
    const why = isSilent(error) ? new ProviderUnavailableError(SILENT) : error
    if (why instanceof ProviderUnavailableError) throw new StepFailure('INTEGRATION_UNAVAILABLE', why.message)
    throw error
  }
}

const SILENT = 'did not answer in time'
