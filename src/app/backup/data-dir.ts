/** Checks a DATA_DIR before use: no unfinished restore, and for operators' commands one that a server has used. */
import fs from 'node:fs'
import path from 'node:path'
import { type Config, ConfigError } from '../../platform/config/config.ts'
import { hasCluster } from '../../platform/postgres/embedded/base-backup.ts'
import { dataDirsInUse } from '../../platform/postgres/embedded/postmaster.ts'

/** Marker file of a running or interrupted restore. */
export const UNFINISHED = 'restore-unfinished'

/** Throws ConfigError. */
export function refuseUnfinished({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): void {
  if (fs.existsSync(path.join(DATA_DIR, UNFINISHED)))
    throw new ConfigError(`A restore into ${DATA_DIR} was not finished: run \`restore\` again.`)
}

/**
 * Throws ConfigError with the DATA_DIRs of running servers: a command with the wrong DATA_DIR would start a second, empty
 * Postgres.
 */
export async function requireUsed({
  DATABASE_URL,
  DATA_DIR,
}: Pick<Config, 'DATABASE_URL' | 'DATA_DIR'>): Promise<void> {
  if (DATABASE_URL || hasCluster(DATA_DIR)) return
  const inUse = await dataDirsInUse()
  const known =
    inUse.length === 0
      ? 'set DATA_DIR or DATABASE_URL as the server has it'
      : inUse.length === 1
        ? `the running one uses DATA_DIR=${inUse[0]}`
        : `the running ones use ${inUse.map((folder) => `DATA_DIR=${folder}`).join(', ')}`
  throw new ConfigError(`No server has run with DATA_DIR=${path.resolve(DATA_DIR)}; ${known}.`)
}
