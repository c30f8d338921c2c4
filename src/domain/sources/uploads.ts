/** Uploads of source tarballs: signed URLs, the receipt when the storage is this server's own, and removal (docs/deployments.md#deployments). */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { KeyRing } from '../crypto/keyring.ts'
import { ConflictError, DomainError, ForbiddenError, ValidationError } from '../errors/errors.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { MAX_TARBALL_BYTES, type StoredObject } from '../ports/tarball-storage.ts'
import { lockDeployment, refuseDeleted, toDelete, toDeleteOrSkip } from '../repositories/locks.ts'
import { requireRole } from '../transaction/access.ts'
import type { Core, ReadContext, ReadCore, RequestContext, Tx } from '../transaction/context.ts'
import { deploymentPath } from '../values/shapes.ts'

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
async function requireUploadAllowance({ settings }: ReadContext, tx: Tx, deploymentId: string): Promise<void> {
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

export interface UploadRequest {
  objectPath: string
  /** query parameters of the URL, unparsed */
  expires: string
  signature: string
  /** Content-Length; null: absent */
  length: number | null
  chunks: AsyncIterable<Uint8Array>
}

/** Throws DomainErrors. Then the received data is discarded, and an earlier upload to the URL stays. */
export async function receiveUpload(core: Core, request: UploadRequest): Promise<StoredObject> {
  requireSignature(core, request)
  if ((request.length ?? 0) > MAX_TARBALL_BYTES) throw tooLarge()
  const { objectPath } = request
  // before the body is read, so a client does not send a body that is rejected
  const where = { objectPath, removedAt: null, deployment: { deletedAt: null } }
  requireReplaceable(await core.db.upload.findFirst({ where, select: { usedAt: true } }))
  const received = await core.tarballs.receive!(requireGzip(request.chunks), objectPath)
  try {
    // the lock keeps a revision from using a tarball that is being replaced
    await core.db.$transaction(async (sql) => {
      const [upload] = await sql.$queryRaw<{ usedAt: Date | null }[]>`
        SELECT used_at AS "usedAt" FROM uploads WHERE object_path = ${objectPath} AND removed_at IS NULL ${toDelete('uploads')}`
      requireReplaceable(upload ?? null)
      await received.keep()
    })
  } catch (error) {
    await received.discard()
    throw error
  }
  return { size: received.size, checksum: received.checksum }
}

function requireSignature(core: ReadCore, { objectPath, expires, signature }: UploadRequest): void {
  const until = /^\d{1,11}$/.test(expires) ? Number(expires) : 0
  if (!core.keyring.verify(PURPOSE, signedText(objectPath, until), signature))
    throw new ForbiddenError('The signature of this address is not valid: use the upload_url exactly as it was given.')
  if (until * 1000 <= core.clock().getTime())
    throw new ForbiddenError('This address has expired: get a new one from the upload-url of the deployment.')
}

function requireReplaceable(upload: { usedAt: Date | null } | null): void {
  if (!upload)
    throw new ConflictError('This upload is no longer accepted: its deployment was deleted, or the upload was removed.')
  if (upload.usedAt) throw new ConflictError('A revision uses this upload: get a new upload-url for another tarball.')
}

/** Passes chunks on. Throws if they do not start with gzip's magic number or exceed the limit. */
async function* requireGzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head = Buffer.alloc(0)
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > MAX_TARBALL_BYTES) throw tooLarge()
    if (head.length < 3) {
      head = Buffer.concat([head, chunk.subarray(0, 3)])
      if (head.length >= 3) requireMagic(head)
    }
    yield chunk
  }
  if (head.length < 3) requireMagic(head)
}

function requireMagic(head: Buffer): void {
  if (head.length >= 3 && head[0] === 0x1f && head[1] === 0x8b && head[2] === 8) return
  throw new ValidationError([{ loc: ['body'], msg: 'Must be a gzip tarball (.tar.gz).', type: 'value_error' }])
}

function tooLarge(): DomainError {
  return new DomainError('PAYLOAD_TOO_LARGE', `The tarball is larger than ${MAX_TARBALL_BYTES} bytes (200 MB).`)
}

const PURPOSE = 'upload'
const signedText = (objectPath: string, expires: number) => `PUT\n${objectPath}\n${expires}`

/** `expires`: seconds since 1970 */
export function signUpload(keyring: KeyRing, objectPath: string, expires: number): string {
  return keyring.sign(PURPOSE, signedText(objectPath, expires))
}

/** A small batch keeps a round short. */
const BATCH_ROWS = 100

/** Runs one round. Safe on several servers. */
export async function removeUploads(core: Core): Promise<void> {
  const reserved = await reserveUnneeded(core)
  for (const { id, objectPath } of reserved) {
    try {
      await core.tarballs.remove([objectPath])
      await core.db.upload.deleteMany({ where: { id } })
    } catch (error) {
      core.log.warn({ err: error, uploadId: id }, 'could not remove an uploaded tarball; it is retried')
    }
  }
}

/** Reserves rows under a lock, so a tarball that a revision starts to use stays. A tarball with a valid upload URL stays too. */
function reserveUnneeded(core: ReadCore): Promise<{ id: string; objectPath: string }[]> {
  return core.db.$queryRaw`
    UPDATE uploads SET removed_at = now() WHERE id IN (
      SELECT u.id FROM uploads u LEFT JOIN deployments d ON d.id = u.deployment_id
      WHERE u.expires_at < now() - interval '1 hour' AND (
        u.removed_at < now() - interval '5 minutes'
        OR (u.removed_at IS NULL AND (
          d.id IS NULL OR d.torn_down_at IS NOT NULL
          OR (u.used_at IS NULL AND u.created_at < now() - interval '24 hours')
          OR (u.used_at < now() - interval '24 hours' AND NOT EXISTS (
            SELECT 1 FROM revisions r
            WHERE r.deployment_id = d.id AND r.source_tarball_path = u.object_path AND (
              r.id IN (d.latest_revision_id, d.active_revision_id)
              OR r.created_at > now() - interval '24 hours'
              OR r.status IN ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING')
              OR r.artifact IS NOT NULL
              OR r.id IN (SELECT id FROM revisions WHERE deployment_id = d.id AND deployed_at IS NOT NULL
                          ORDER BY deployed_at DESC LIMIT 5)))))))
      ORDER BY u.created_at LIMIT ${BATCH_ROWS} ${toDeleteOrSkip('u')})
    RETURNING id, object_path AS "objectPath"`
}
