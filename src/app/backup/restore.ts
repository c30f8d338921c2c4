/**
 * Restores a backup into an empty DATA_DIR, and dumps into an empty database. A marker file prevents server starts until it
 * is complete; another try starts over.
 */
import fs from 'node:fs'
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createDatabase, createDatabaseAdmin, databaseName } from '../../dataplane/process/isolation/database.ts'
import { deleteAllSessions } from '../../domain/sessions/session.ts'
import type { Config } from '../../platform/config/config.ts'
import { namesOfDumps, restoreDumps, restoreObstacle } from '../../platform/postgres/dumps.ts'
import { hasCluster, placeCopy, removeCluster } from '../../platform/postgres/embedded/base-backup.ts'
import { startEmbedded } from '../../platform/postgres/embedded/embedded.ts'
import type { ProgramEnvironment } from '../../platform/postgres/pg-programs.ts'
import { BackupError, bringFilesBack, layoutOf, MACHINE, type Manifest, readManifest, UNFINISHED } from './contents.ts'

export interface RestoreOptions {
  config: Config
  backup: string
  /** another tool restores the databases of DATABASE_URL */
  filesOnly: boolean
  env: ProgramEnvironment
}

/** Throws BackupError and DumpError for the operator. */
export async function restore({ config, backup, filesOnly, env }: RestoreOptions): Promise<Manifest> {
  if (process.getuid?.() === 0) process.umask(0o022)
  const manifest = await readManifest(backup)
  requireFitting(config, manifest, filesOnly)
  const dumps = manifest.databases === 'dumps' && !filesOnly ? path.join(backup, 'databases') : null
  const ownUrl = config.DATABASE_DIRECT_URL ?? config.DATABASE_URL
  const inTheWay = dumps && ownUrl && (await restoreObstacle(ownUrl, await namesOfDumps(dumps)))
  if (inTheWay) throw new BackupError(inTheWay)
  await makeRoom(config)
  await bringFilesBack(config, path.join(backup, 'data'))
  if (manifest.databases === 'postgres') await placeCopy(path.join(backup, 'postgres'), config.DATA_DIR)
  // starts the copy once, to check that it is complete
  const embedded = config.DATABASE_URL ? null : await startEmbedded({ dataDir: config.DATA_DIR })
  try {
    const url = ownUrl ?? embedded!.url
    if (dumps) await bringDatabasesBack(config, url, dumps, env)
    if (!filesOnly) await createDatabaseAdmin(url).run(new AbortController().signal, deleteAllSessions)
  } finally {
    await embedded?.stop()
  }
  await rm(path.join(config.DATA_DIR, UNFINISHED))
  return manifest
}

function requireFitting(config: Config, { databases, machine, keys }: Manifest, filesOnly: boolean): void {
  if (databases === 'postgres' && config.DATABASE_URL)
    throw new BackupError(
      'This backup has the files of an embedded Postgres: restore it without DATABASE_URL, or make one with --dumps.',
    )
  if (databases === null && !(filesOnly && config.DATABASE_URL))
    throw new BackupError(
      'This backup has no databases: bring them back by the means that saved them, and use --files-only with their DATABASE_URL.',
    )
  if (databases === 'postgres' && machine !== MACHINE)
    throw new BackupError(
      `This backup was made on ${machine}, whose Postgres files are of no use on ${MACHINE}: make one with --dumps.`,
    )
  if (!keys && !config.SECRETS_KEYS)
    throw new BackupError('This backup has no key file, since there were SECRETS_KEYS: set them as they were.')
}

/** Requires an empty DATA_DIR, or one with an interrupted restore, which it empties. Writes the marker file. */
async function makeRoom(config: Config): Promise<void> {
  const { DATA_DIR: folder } = config
  const marker = path.join(folder, UNFINISHED)
  const found = fs.existsSync(folder) ? await readdir(folder) : []
  if (found.length > 0 && !found.includes(UNFINISHED))
    throw new BackupError(
      `${path.resolve(folder)} is not empty: stop the server with its agents and move the folder away.`,
    )
  const fresh = found.length === 0
  if ((await mkdir(folder, { recursive: true, mode: 0o711 })) !== undefined) fs.chmodSync(folder, 0o711)
  if (found.length > 0) await removeCluster(folder)
  for (const name of found) if (name !== UNFINISHED) await rm(path.join(folder, name), { recursive: true, force: true })
  // agents' folders and Postgres's files may be elsewhere, and remain there when DATA_DIR was moved
  const { apps } = layoutOf(config)
  if (fresh && (fs.readdirSync(apps).length > 0 || (!config.DATABASE_URL && hasCluster(folder))))
    throw new BackupError(`${path.dirname(apps)} still has files of a DATA_DIR that was here before: move it away.`)
  await writeFile(marker, '')
  for (const name of await readdir(apps)) await rm(path.join(apps, name), { recursive: true, force: true })
}

/** Restores databases, roles and passwords. */
async function bringDatabasesBack(config: Config, url: string, dumps: string, env: ProgramEnvironment): Promise<void> {
  const layout = layoutOf(config)
  const admin = createDatabaseAdmin(url)
  const ids = new Map((await readdir(layout.apps)).map((id) => [databaseName(id), id]))
  const create = async (name: string) => {
    const id = ids.get(name)
    if (id === undefined) throw new BackupError(`The backup has a dump of ${name}, and not its password.`)
    await createDatabase(admin, id, layout.app(id).database, new AbortController().signal)
  }
  await restoreDumps(url, dumps, create, env)
}
