/** What a DATA_DIR has to be before it is used: restored in full, and for operators' commands one that a server has used. */
import fs from 'node:fs'
import path from 'node:path'
import { type Config, ConfigError } from '../../platform/config/config.ts'
import { hasCluster } from '../../platform/postgres/embedded/base-backup.ts'
import { dataDirsInUse } from '../../platform/postgres/embedded/postmaster.ts'

/** This file exists while a restore is under way. */
export const UNFINISHED = 'restore-unfinished'

/** Throws ConfigError. */
export function refuseUnfinished({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): void {
  if (fs.existsSync(path.join(DATA_DIR, UNFINISHED)))
    throw new ConfigError(`A restore into ${DATA_DIR} was not finished: run \`restore\` again.`)
}

/**
 * A command with another DATA_DIR than the server's would start a second, empty Postgres. Throws ConfigError, which names the
 * folders of the servers that run.
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
