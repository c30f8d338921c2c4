/** Stores uploaded tarballs in an S3 bucket or a compatible service. Clients upload there directly. */
import { addAbortSignal, type Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { ObjectChangedError, type TarballStorage } from '../../domain/ports/tarball-storage.ts'
import { withTimeout } from '../../platform/async/time-limit.ts'

const RESPONSE_TIMEOUT_MS = 20_000
const IDLE_TIMEOUT_MS = 30_000
/** concurrent connections; more than concurrent reads (app/limits.ts) */
const MAX_DOWNLOADS = 256

export interface BucketOptions {
  bucket: string
  /** undefined: AWS */
  endpoint: string | undefined
  region: string
  /** prefix of all object keys */
  prefix: string
  /** undefined: the SDK's default credentials */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined
}

export function createBucketStorage({ bucket, endpoint, region, prefix, credentials }: BucketOptions): TarballStorage {
  const options = {
    region,
    endpoint,
    credentials,
    // other services seldom support a host name for each bucket
    forcePathStyle: endpoint !== undefined,
    // otherwise the signed URL requires a checksum that plain clients don't send
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 5_000, socketTimeout: IDLE_TIMEOUT_MS },
  } satisfies S3ClientConfig
  const client = new S3Client(options)
  // separate client: slow readers must not use up connections of other calls
  const many = { keepAlive: true, maxSockets: MAX_DOWNLOADS }
  const downloads = new S3Client({
    ...options,
    requestHandler: { ...options.requestHandler, httpAgent: many, httpsAgent: many },
  })
  const named = (objectPath: string) => ({ Bucket: bucket, Key: prefix + objectPath })
  const inTime = <T>(work: (options: { abortSignal: AbortSignal }) => Promise<T>, signal?: AbortSignal) =>
    withTimeout(RESPONSE_TIMEOUT_MS, signal ?? new AbortController().signal, (abortSignal) => work({ abortSignal }))

  return {
    uploadUrl(objectPath, now, seconds) {
      return getSignedUrl(client, new PutObjectCommand(named(objectPath)), { signingDate: now, expiresIn: seconds })
    },
    async stat(objectPath) {
      const head = await orNull(inTime((how) => client.send(new HeadObjectCommand(named(objectPath)), how)))
      return head && { size: head.ContentLength ?? 0, checksum: `etag:${head.ETag}` }
    },
    async open(objectPath, checksum, signal) {
      const IfMatch = checksum.replace(/^etag:/, '')
      const get = new GetObjectCommand({ ...named(objectPath), IfMatch })
      const found = await orNull(inTime((how) => downloads.send(get, how), signal))
      if (!found) return null
      const body = found.Body as Readable
      // some services ignore If-Match
      if (`etag:${found.ETag}` !== checksum) {
        body.destroy()
        throw new ObjectChangedError()
      }
      return signal ? addAbortSignal(signal, body) : body
    },
    async remove(objectPaths) {
      // one by one: the bulk call needs a checksum that differs between services
      for (const objectPath of objectPaths)
        await orNull(inTime((how) => client.send(new DeleteObjectCommand(named(objectPath)), how)))
    },
  }
}

/** Null when the object is missing. */
function orNull<T>(work: Promise<T>): Promise<T | null> {
  return work.catch((error: unknown) => {
    const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
    if (status === 404 && (error as Error).name !== 'NoSuchBucket') return null
    if (status === 412) throw new ObjectChangedError()
    throw error
  })
}
