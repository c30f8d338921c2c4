/** Creates the configured storage for uploaded source tarballs: a folder or an S3 bucket. */
import path from 'node:path'
import type { KeyRing } from '../../domain/crypto/keyring.ts'
import type { TarballStorage } from '../../domain/ports/tarball-storage.ts'
import type { Config } from '../../platform/config/config.ts'
import { createFolderStorage } from './folder.ts'

export interface StorageOptions {
  config: Config
  keyring: KeyRing
  publicUrl: () => string
}

/** Uses neither disk nor network before the first upload. */
export async function createStorage({ config, keyring, publicUrl }: StorageOptions): Promise<TarballStorage> {
  if (!config.STORAGE_S3_BUCKET)
    return createFolderStorage({ folder: path.join(config.DATA_DIR, 'uploads'), keyring, publicUrl })
  // its SDK loads slowly, so other servers don't import it
  const { createBucketStorage } = await import('./s3.ts')
  return createBucketStorage({
    bucket: config.STORAGE_S3_BUCKET,
    endpoint: config.STORAGE_S3_ENDPOINT,
    region: config.STORAGE_S3_REGION,
    prefix: config.STORAGE_S3_PREFIX,
    credentials: config.STORAGE_S3_ACCESS_KEY_ID
      ? { accessKeyId: config.STORAGE_S3_ACCESS_KEY_ID, secretAccessKey: config.STORAGE_S3_SECRET_ACCESS_KEY! }
      : undefined,
  })
}
