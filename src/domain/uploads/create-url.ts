/** Gives out an address that takes the upload of one source tarball (contract 3). */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { requireRole } from '../access.ts'
import { type RequestContext, type Tx, transaction } from '../context.ts'
import { lockDeployment, refuseDeleted } from '../deployments/lock.ts'
import { deploymentPath } from '../deployments/schemas.ts'
import { ConflictError, DomainError } from '../errors.ts'
import { parse, type RawInput } from '../parse.ts'

/** ms that an address takes an upload */
const VALID = 60 * 60 * 1000

export const uploadUrlInput = z.object({ path: deploymentPath })

export interface UploadUrl {
  /** absolute; whoever has it may upload: never log it */
  uploadUrl: string
  /** the `source_tarball_path` of the revision that uses it */
  objectPath: string
}

/** Role: deployer. Throws ConflictError for other sources than `internal_source`, RATE_LIMITED when too many are open. */
export async function createUploadUrl(ctx: RequestContext, raw: RawInput): Promise<UploadUrl> {
  requireRole(ctx, 'deployer')
  const { path } = parse(uploadUrlInput, raw)
  const expiresAt = new Date(ctx.clock().getTime() + VALID)
  const objectPath = await transaction(
    ctx,
    async (tx) => {
      const deployment = await lockDeployment(tx, ctx, path.deployment_id)
      refuseDeleted(deployment)
      if (deployment.source !== 'internal_source')
        throw new ConflictError(
          `Uploads are only for internal_source deployments; this deployment's source is ${deployment.source}.`,
        )
      await refuseTooMany(ctx, tx, deployment.id)
      const id = randomUUID()
      const objectPath = `sources/${deployment.workspaceId}/${deployment.id}/${id}.tar.gz`
      await tx.sql.upload.create({ data: { id, deploymentId: deployment.id, objectPath, expiresAt } })
      return objectPath
    },
    { deployment: path.deployment_id },
  )
  return { uploadUrl: await ctx.tarballs.uploadUrl(objectPath, expiresAt), objectPath }
}

/** Each may be 200 MB in the storage. One that is used or has expired makes room; the deployment is locked. */
async function refuseTooMany({ settings }: RequestContext, tx: Tx, deploymentId: string): Promise<void> {
  const most = settings.uploadsPerDeployment
  const [open] = await tx.sql.$queryRaw<{ count: number; seconds: number | null }[]>`
    SELECT count(*)::int AS count, ceil(extract(epoch FROM min(expires_at) - now()))::int AS seconds FROM uploads
    WHERE deployment_id = ${deploymentId}::uuid AND used_at IS NULL AND removed_at IS NULL AND expires_at > now()`
  if (open!.count < most) return
  throw new DomainError(
    'RATE_LIMITED',
    `This deployment has ${open!.count} addresses for uploads that are neither used nor expired, and may have ${most}: use one of them.`,
    { retryAfterSeconds: open!.seconds ?? 1 },
  )
}
