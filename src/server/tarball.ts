/** The tarball that a revision is built from, for builds on this machine: exactly the one that was accepted. */
import type { Readable } from 'node:stream'
import { StepFailure } from '../dataplane/failure.ts'
import type { Core } from '../domain/context.ts'
import { ObjectChangedError } from '../domain/uploads/storage.ts'

const AGAIN = 'upload it again and set source_revision_config.source_tarball_path'

/** Rejects with a StepFailure when it was removed or is another one. */
export async function tarball(core: Core, revisionId: string, signal: AbortSignal): Promise<Readable> {
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
