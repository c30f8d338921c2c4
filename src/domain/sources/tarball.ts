/**
 * Checks and reserves the tarball of a new revision: issued for the deployment, uploaded and not too large. The storage is read
 * before the transaction; the row is checked again in it.
 */
import { DomainError, type Violation } from '../errors/errors.ts'
import { violation, violationUnless } from '../parsing/parse.ts'
import { MAX_TARBALL_BYTES, type StoredObject } from '../ports/tarball-storage.ts'
import { toDelete } from '../repositories/locks.ts'
import { tenant } from '../transaction/access.ts'
import type { RequestContext, Tx } from '../transaction/context.ts'

const TARBALL_FIELD = 'source_revision_config.source_tarball_path'

/** A path from the caller, with the object that the storage has there. */
export interface Tarball {
  objectPath: string
  deploymentId: string
  /** null: not issued for this deployment, or nothing was uploaded */
  stored: StoredObject | null
}

/** Calls the storage, so it must run outside of transactions. Null: no path. */
export async function inspectTarball(
  ctx: RequestContext,
  deploymentId: string,
  objectPath: string | null | undefined,
): Promise<Tarball | null> {
  if (objectPath == null) return null
  // the storage is not called for other deployments' paths
  const issued = await ctx.db.upload.count({
    where: { objectPath, deploymentId, removedAt: null, deployment: tenant(ctx) },
  })
  const found = issued === 0 ? null : ctx.tarballs.stat(objectPath)
  const stored = await found?.catch((error) => {
    ctx.log.error({ err: error, requestId: ctx.requestId }, 'the storage of source tarballs failed')
    throw new DomainError('UNAVAILABLE', 'The storage of source tarballs does not answer. Try again.')
  })
  return { objectPath, deploymentId, stored: stored ?? null }
}

const unissuedViolation = () =>
  violation(TARBALL_FIELD, 'Must be a path obtained from the upload-url of this deployment.')

/** For a new deployment, for which no path can have been issued. */
export function unissuedViolations(objectPath: string | null | undefined): Violation[] {
  return objectPath == null ? [] : [unissuedViolation()]
}

/** Returns why the tarball is unusable. Locks its row until the transaction ends. */
export async function tarballViolations(tx: Tx, tarball: Tarball | null): Promise<Violation[]> {
  if (!tarball) return []
  const { objectPath, deploymentId, stored } = tarball
  await tx.sql.$queryRaw`SELECT 1 FROM uploads WHERE object_path = ${objectPath} ${toDelete('uploads')}`
  const upload = await tx.sql.upload.findFirst({ where: { objectPath, deploymentId, removedAt: null } })
  if (!upload) return [unissuedViolation()]
  if (!stored)
    return [violation(TARBALL_FIELD, 'Nothing was uploaded to this path: PUT the tarball to its upload_url first.')]
  const tooLarge = `The tarball has ${stored.size} bytes; at most ${MAX_TARBALL_BYTES} are allowed. Upload another.`
  if (stored.size > MAX_TARBALL_BYTES) return [violation(TARBALL_FIELD, tooLarge)]
  const changed = 'The tarball has been changed since a revision used it: get a new upload-url.'
  return violationUnless(upload.checksum === null || upload.checksum === stored.checksum, TARBALL_FIELD, changed)
}

/** After this call the tarball can't be replaced. */
export async function markTarballUsed(tx: Tx, tarball: Tarball | null): Promise<void> {
  if (!tarball?.stored) return
  await tx.sql.upload.update({
    where: { objectPath: tarball.objectPath },
    data: { ...tarball.stored, usedAt: tx.now() },
  })
}

/** For a redeploy: protects the tarball from removal. False: it is already removed. */
export async function reuseTarball(tx: Tx, objectPath: string | null): Promise<boolean> {
  const { count } = await tx.sql.upload.updateMany({
    where: { objectPath: objectPath ?? '', removedAt: null },
    data: { usedAt: tx.now() },
  })
  return count > 0
}
