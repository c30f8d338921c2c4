/** Opens the storage of uploaded source tarballs that the settings name: a folder, or an S3 bucket. */
import path from 'node:path'
import type { Config } from '../config.ts'
import type { KeyRing } from '../domain/secrets/keyring.ts'
import type { TarballStorage } from '../domain/uploads/storage.ts'
import { openFolder } from './folder.ts'

export interface StorageOptions {
  config: Config
  /** signs the addresses of uploads */
  keyring: KeyRing
  publicUrl: () => string
}

/** Touches neither disk nor network: that comes with the first upload. */
export async function openStorage({ config, keyring, publicUrl }: StorageOptions): Promise<TarballStorage> {
  if (!config.STORAGE_S3_BUCKET)
    return openFolder({ folder: path.join(config.DATA_DIR, 'uploads'), keyring, publicUrl })
  // its SDK takes a while to load, which no other server has to wait for
  const { openBucket } = await import('./s3.ts')
  return openBucket({
    bucket: config.STORAGE_S3_BUCKET,
    endpoint: config.STORAGE_S3_ENDPOINT,
    region: config.STORAGE_S3_REGION,
    prefix: config.STORAGE_S3_PREFIX,
    credentials: config.STORAGE_S3_ACCESS_KEY_ID
      ? { accessKeyId: config.STORAGE_S3_ACCESS_KEY_ID, secretAccessKey: config.STORAGE_S3_SECRET_ACCESS_KEY! }
      : undefined,
  })
}
