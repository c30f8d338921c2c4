/** Issues a signed URL for the upload of one source tarball (docs/deployments.md#deployments). */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { ConflictError, DomainError } from '../../errors/errors.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { lockDeployment, refuseDeleted } from '../../repositories/locks.ts'
import { requireRole } from '../../transaction/access.ts'
import type { RequestContext, Tx } from '../../transaction/context.ts'
import { deploymentPath } from '../../values/shapes.ts'

const URL_VALID_SECONDS = 60 * 60

export const uploadUrlInput = z.object({ path: deploymentPath })

export interface UploadUrl {
  /** absolute; a credential for the upload: never log it */
  uploadUrl: string
  /** the `source_tarball_path` of the revision that uses the tarball */
  objectPath: string
}

/** Role: deployer. Throws ConflictError for sources other than `internal_source`, RATE_LIMITED for too many open uploads. */
export async function createUploadUrl(ctx: RequestContext, raw: RawInput): Promise<UploadUrl> {
  requireRole(ctx, 'deployer')
  const { path } = parse(uploadUrlInput, raw)
  const now = ctx.clock()
  const expiresAt = new Date(now.getTime() + URL_VALID_SECONDS * 1000)
  const objectPath = await lockDeployment(ctx, path.deployment_id, async (tx, deployment) => {
    refuseDeleted(deployment)
    if (deployment.source !== 'internal_source')
      throw new ConflictError(
        `Uploads are only for internal_source deployments; this deployment's source is ${deployment.source}.`,
      )
    await requireUploadAllowance(ctx, tx, deployment.id)
    const id = randomUUID()
    const objectPath = `sources/${deployment.workspaceId}/${deployment.id}/${id}.tar.gz`
    await tx.sql.upload.create({ data: { id, deploymentId: deployment.id, objectPath, expiresAt } })
    return objectPath
  })
  return { uploadUrl: await ctx.tarballs.uploadUrl(objectPath, now, URL_VALID_SECONDS), objectPath }
}

/** Each upload may take 200 MB of storage. Used and expired ones do not count. The deployment must be locked. */
async function requireUploadAllowance({ settings }: RequestContext, tx: Tx, deploymentId: string): Promise<void> {
  const most = settings.uploadsPerDeployment
  const [open] = await tx.sql.$queryRaw<{ count: number; seconds: number | null }[]>`
    SELECT count(*)::int AS count, ceil(extract(epoch FROM min(expires_at) - now()))::int AS seconds FROM uploads
    WHERE deployment_id = ${deploymentId}::uuid AND used_at IS NULL AND removed_at IS NULL AND expires_at > now()`
  if (open!.count < most) return
  throw new DomainError(
    'RATE_LIMITED',
    `This deployment has ${open!.count} upload URLs that are neither used nor expired, and the limit is ${most}: use one of them.`,
    { retryAfterSeconds: open!.seconds ?? 1 },
  )
}
