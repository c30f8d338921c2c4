/** Uploaded tarballs in an S3 bucket, or one of a service that speaks its API: uploads go there, past our server. */
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

/** ms for an answer to begin, tries included */
const ANSWER_TIME = 20_000
/** ms without a byte */
const SILENCE = 30_000
/** connections: more than are read at a time (app/limits.ts) */
const DOWNLOADS = 256

export interface BucketOptions {
  bucket: string
  /** undefined: AWS */
  endpoint: string | undefined
  region: string
  /** begins the keys of all objects */
  prefix: string
  /** undefined: as the SDK finds them */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined
}

export function createBucketStorage({ bucket, endpoint, region, prefix, credentials }: BucketOptions): TarballStorage {
  const options = {
    region,
    endpoint,
    credentials,
    // other services seldom have a name for each bucket
    forcePathStyle: endpoint !== undefined,
    // or the signed address demands a checksum that no plain client sends
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 5_000, socketTimeout: SILENCE },
  } satisfies S3ClientConfig
  const client = new S3Client(options)
  // who reads slowly takes no connection from what others wait for
  const many = { keepAlive: true, maxSockets: DOWNLOADS }
  const downloads = new S3Client({
    ...options,
    requestHandler: { ...options.requestHandler, httpAgent: many, httpsAgent: many },
  })
  const named = (objectPath: string) => ({ Bucket: bucket, Key: prefix + objectPath })
  const inTime = <T>(work: (options: { abortSignal: AbortSignal }) => Promise<T>, signal?: AbortSignal) =>
    withTimeout(ANSWER_TIME, signal ?? new AbortController().signal, (abortSignal) => work({ abortSignal }))

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
      // some services don't know If-Match
      if (`etag:${found.ETag}` !== checksum) {
        body.destroy()
        throw new ObjectChangedError()
      }
      return signal ? addAbortSignal(signal, body) : body
    },
    async remove(objectPaths) {
      // one by one: the call for many needs a checksum that differs between services
      for (const objectPath of objectPaths)
        await orNull(inTime((how) => client.send(new DeleteObjectCommand(named(objectPath)), how)))
    },
  }
}

/** What is not there is null. */
function orNull<T>(work: Promise<T>): Promise<T | null> {
  return work.catch((error: unknown) => {
    const status = error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
    if (status === 404 && (error as Error).name !== 'NoSuchBucket') return null
    if (status === 412) throw new ObjectChangedError()
    throw error
  })
}
