/**
 * Gives builds access to sources (dataplane/build/source-access.ts): builds on this machine, and builders through their
 * server.
 */
import type { Readable } from 'node:stream'
import type { ImageCredentials, SourceAccess } from '../dataplane/build/source-access.ts'
import { StepFailure } from '../dataplane/output/step-failure.ts'
import type { BuildSources, Unavailable } from '../domain/ports/build-sources.ts'
import { coversRepository, repositoryOf } from '../domain/ports/registry.ts'
import { ObjectChangedError } from '../domain/ports/tarball-storage.ts'
import type { Core } from '../domain/transaction/context.ts'
import { parseImageReference } from '../domain/values/image-reference.ts'
import { gitCredentials } from './git-credentials.ts'

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
