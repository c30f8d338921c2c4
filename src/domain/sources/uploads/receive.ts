/** Receives an upload when the storage is this server's own. The signature in the URL is the credential for one object. */

import type { KeyRing } from '../../crypto/keyring.ts'
import { ConflictError, DomainError, ForbiddenError, ValidationError } from '../../errors/errors.ts'
import { MAX_TARBALL_BYTES, type Received, type StoredObject } from '../../ports/tarball-storage.ts'
import { toDelete } from '../../repositories/locks.ts'
import type { Core } from '../../transaction/context.ts'

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
  await requireAwaited(core, request.objectPath)
  const received = await core.tarballs.receive!(requireGzip(request.chunks), request.objectPath)
  try {
    await storeReceived(core, request.objectPath, received)
  } catch (error) {
    await received.discard()
    throw error
  }
  return { size: received.size, checksum: received.checksum }
}

function requireSignature(core: Core, { objectPath, expires, signature }: UploadRequest): void {
  const until = /^\d{1,11}$/.test(expires) ? Number(expires) : 0
  if (!isSigned(core.keyring, objectPath, until, signature))
    throw new ForbiddenError('The signature of this address is not valid: use the upload_url exactly as it was given.')
  if (until * 1000 <= core.clock().getTime())
    throw new ForbiddenError('This address has expired: get a new one from the upload-url of the deployment.')
}

/** Runs before the body is read, so a client does not send a body that is rejected. */
async function requireAwaited(core: Core, objectPath: string): Promise<void> {
  requireReplaceable(
    await core.db.upload.findFirst({
      where: { objectPath, removedAt: null, deployment: { deletedAt: null } },
      select: { usedAt: true },
    }),
  )
}

/** Locks the row, so a tarball that a revision uses is never replaced. */
async function storeReceived(core: Core, objectPath: string, received: Received): Promise<void> {
  await core.db.$transaction(async (sql) => {
    const [upload] = await sql.$queryRaw<{ usedAt: Date | null }[]>`
      SELECT used_at AS "usedAt" FROM uploads WHERE object_path = ${objectPath} AND removed_at IS NULL ${toDelete('uploads')}`
    requireReplaceable(upload ?? null)
    await received.keep()
  })
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

function isSigned(keyring: KeyRing, objectPath: string, expires: number, signature: string): boolean {
  return keyring.verify(PURPOSE, signedText(objectPath, expires), signature)
}
