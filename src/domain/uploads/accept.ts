/**
 * A revision takes an uploaded tarball: only one that was issued for its deployment, is there, and is not too large.
 * The storage is asked before the transaction; in it the row says whether that still holds.
 */
import { tenant } from '../access.ts'
import type { RequestContext, Tx } from '../context.ts'
import { DomainError, type Violation } from '../errors.ts'
import { violation } from '../parse.ts'
import { MAX_TARBALL_BYTES, type StoredObject } from './storage.ts'

const FIELD = 'source_revision_config.source_tarball_path'

/** A path somebody named, and what the storage has there. */
export interface Tarball {
  objectPath: string
  deploymentId: string
  /** null: it was not issued for this deployment, or nothing was uploaded */
  stored: StoredObject | null
}

/** Network: outside of any transaction. null: no path was named. */
export async function inspectTarball(
  ctx: RequestContext,
  deploymentId: string,
  objectPath: string | null | undefined,
): Promise<Tarball | null> {
  if (objectPath == null) return null
  // a path of somebody else's is not even looked at
  const issued = await ctx.db.upload.count({
    where: { objectPath, deploymentId, removedAt: null, deployment: tenant(ctx) },
  })
  return { objectPath, deploymentId, stored: issued === 0 ? null : await stat(ctx, objectPath) }
}

async function stat(ctx: RequestContext, objectPath: string): Promise<StoredObject | null> {
  try {
    return await ctx.tarballs.stat(objectPath)
  } catch (error) {
    ctx.log.error({ err: error, requestId: ctx.requestId }, 'the storage of source tarballs failed')
    throw new DomainError('UNAVAILABLE', 'The storage of source tarballs does not answer. Try again.')
  }
}

const unissued = () => violation(FIELD, 'Must be a path obtained from the upload-url of this deployment.')

/** For a deployment that is only just being made: no path can be one of its own. */
export function unissuedViolations(objectPath: string | null | undefined): Violation[] {
  return objectPath == null ? [] : [unissued()]
}

/** Why the tarball can't be taken. Locks its row until the transaction ends. */
export async function tarballViolations(tx: Tx, tarball: Tarball | null): Promise<Violation[]> {
  if (!tarball) return []
  const { objectPath, deploymentId, stored } = tarball
  await tx.sql.$queryRaw`SELECT 1 FROM uploads WHERE object_path = ${objectPath} FOR UPDATE`
  const upload = await tx.sql.upload.findFirst({ where: { objectPath, deploymentId, removedAt: null } })
  if (!upload) return [unissued()]
  if (!stored) return [violation(FIELD, 'Nothing was uploaded to this path: PUT the tarball to its upload_url first.')]
  if (stored.size > MAX_TARBALL_BYTES)
    return [
      violation(FIELD, `The tarball has ${stored.size} bytes; at most ${MAX_TARBALL_BYTES} are taken. Upload another.`),
    ]
  if (upload.checksum !== null && upload.checksum !== stored.checksum)
    return [violation(FIELD, 'The tarball has been changed since a revision used it: get a new upload-url.')]
  return []
}

/** Records what was taken: from now on it can't be replaced. */
export async function useTarball(tx: Tx, tarball: Tarball | null): Promise<void> {
  if (!tarball?.stored) return
  await tx.sql.upload.update({
    where: { objectPath: tarball.objectPath },
    data: { ...tarball.stored, usedAt: tx.now() },
  })
}

/** The tarball of a revision is needed again. false: it was removed. */
export async function reuseTarball(tx: Tx, objectPath: string | null): Promise<boolean> {
  const { count } = await tx.sql.upload.updateMany({
    where: { objectPath: objectPath ?? '', removedAt: null },
    data: { usedAt: tx.now() },
  })
  return count > 0
}
