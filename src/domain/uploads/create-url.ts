/** Gives out an address that takes the upload of one source tarball (contract 3). */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { requireRole } from '../access.ts'
import { type RequestContext, transaction } from '../context.ts'
import { lockDeployment, refuseDeleted } from '../deployments/lock.ts'
import { deploymentPath } from '../deployments/schemas.ts'
import { ConflictError } from '../errors.ts'
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

/** Role: deployer. Throws ConflictError for other sources than `internal_source`. */
export async function createUploadUrl(ctx: RequestContext, raw: RawInput): Promise<UploadUrl> {
  requireRole(ctx, 'deployer')
  const { path } = parse(uploadUrlInput, raw)
  const expiresAt = new Date(ctx.clock().getTime() + VALID)
  const objectPath = await transaction(ctx, async (tx) => {
    const deployment = await lockDeployment(tx, ctx, path.deployment_id)
    refuseDeleted(deployment)
    if (deployment.source !== 'internal_source')
      throw new ConflictError(
        `Uploads are only for internal_source deployments; this deployment's source is ${deployment.source}.`,
      )
    const id = randomUUID()
    const objectPath = `sources/${deployment.workspaceId}/${deployment.id}/${id}.tar.gz`
    await tx.sql.upload.create({ data: { id, deploymentId: deployment.id, objectPath, expiresAt } })
    return objectPath
  })
  return { uploadUrl: await ctx.tarballs.uploadUrl(objectPath, expiresAt), objectPath }
}
