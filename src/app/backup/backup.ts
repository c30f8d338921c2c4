/**
 * Makes a backup while servers and agents run: first the databases, then the files that they refer to. The folder gets its
 * final name last, so a backup with that name is complete.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { databaseName } from '../../dataplane/process/isolation/database.ts'
import { supervisorLives } from '../../dataplane/process/processes/supervisor-locks.ts'
import type { Config } from '../../platform/config/config.ts'
import { saveDumps } from '../../platform/postgres/dumps.ts'
import { copyCluster } from '../../platform/postgres/embedded/base-backup.ts'
import { startEmbedded } from '../../platform/postgres/embedded/embedded.ts'
import type { ProgramEnvironment } from '../../platform/postgres/pg-programs.ts'
import { BackupError, MACHINE, type Manifest, requireUsed, saveFiles } from './contents.ts'

export interface BackupOptions {
  config: Config
  target: string
  /** another tool backs up the databases of DATABASE_URL */
  filesOnly: boolean
  /** dump the embedded Postgres, too: another version or another Postgres can read that */
  asDumps: boolean
  env: ProgramEnvironment
}

/** Throws BackupError, ConfigError and DumpError for the operator, and then leaves no files behind. */
export async function backUp({ config, target, filesOnly, asDumps, env }: BackupOptions): Promise<Manifest> {
  const place = path.resolve(target)
  if (fs.existsSync(place)) throw new BackupError(`${place} is there already: name a new folder.`)
  await requireUsed(config)
  if (!fs.existsSync(config.DATA_DIR))
    throw new BackupError(`There is nothing in ${config.DATA_DIR} yet: see DATA_DIR.`)
  await mkdir(path.dirname(place), { recursive: true })
  const draft = await mkdtemp(`${place}.unfinished-`)
  try {
    const databases = filesOnly ? null : config.DATABASE_URL || asDumps ? 'dumps' : 'postgres'
    if (databases) await saveDatabases(config, databases, draft, env)
    const manifest: Manifest = { format: 1, databases, machine: MACHINE, keys: !config.SECRETS_KEYS }
    await saveFiles(config, databases, path.join(draft, 'data'))
    await writeFile(path.join(draft, 'backup.json'), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 })
    // synced before the rename; -f: only this file system
    await promisify(execFile)('sync', process.platform === 'linux' ? ['-f', draft] : [])
    await rename(draft, place)
    return manifest
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw error
  }
}

async function saveDatabases(
  config: Config,
  how: 'dumps' | 'postgres',
  target: string,
  env: ProgramEnvironment,
): Promise<void> {
  // agents whose server is stopped need it, too
  const needed = () => supervisorLives(config.DATA_DIR)
  const embedded = config.DATABASE_URL ? null : await startEmbedded({ dataDir: config.DATA_DIR, needed })
  const url = config.DATABASE_DIRECT_URL ?? config.DATABASE_URL ?? embedded!.url
  try {
    if (how === 'dumps') await saveDumps(url, path.join(target, 'databases'), databaseName, env)
    else await copyCluster(url, path.join(target, 'postgres'))
  } finally {
    await embedded?.stop()
  }
}
