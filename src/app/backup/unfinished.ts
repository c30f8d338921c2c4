/** A DATA_DIR in which a restore was interrupted: nobody may take it for a whole one. */
import fs from 'node:fs'
import path from 'node:path'
import { type Config, ConfigError } from '../../platform/config/config.ts'

/** The file that is there meanwhile. */
export const UNFINISHED = 'restore-unfinished'

/** Throws ConfigError. */
export function refuseUnfinished({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): void {
  if (fs.existsSync(path.join(DATA_DIR, UNFINISHED)))
    throw new ConfigError(`A restore into ${DATA_DIR} was not finished: run \`restore\` again.`)
}
