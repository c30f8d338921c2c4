/** Opens the storage of uploaded source tarballs that the settings name: a folder, or an S3 bucket. */
import path from 'node:path'
import type { KeyRing } from '../../domain/crypto/keyring.ts'
import type { TarballStorage } from '../../domain/ports/tarball-storage.ts'
import type { Config } from '../../platform/config/config.ts'
import { createFolderStorage } from './folder.ts'

export interface StorageOptions {
  config: Config
  /** signs the addresses of uploads */
  keyring: KeyRing
  publicUrl: () => string
}

/** Touches neither disk nor network: that comes with the first upload. */
export async function createStorage({ config, keyring, publicUrl }: StorageOptions): Promise<TarballStorage> {
  if (!config.STORAGE_S3_BUCKET)
    return createFolderStorage({ folder: path.join(config.DATA_DIR, 'uploads'), keyring, publicUrl })
  // its SDK takes a while to load, which no other server has to wait for
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
