/**
 * A backup of the embedded Postgres while it works: its files, copied between `pg_backup_start` and `pg_backup_stop`, and
 * the log that was written meanwhile. It has every database, every role and every password. The first start on the copy
 * replays that log, up to the end of the backup.
 */
import fs from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { copyTree } from '../../files/copy-tree.ts'
import { onSingleConnection } from '../single-connection.ts'
import { placeCluster } from './account.ts'
import { findPostmaster, shutDown } from './postmaster.ts'

/** Of this machine or of this moment; Postgres makes them anew. */
const NOT_COPIED = new Set(['postmaster.pid', 'postmaster.opts', 'pg_internal.init'])
/** Folders that a copy has to have, empty. */
const EMPTY = /^pg_(wal|replslot|dynshmem|notify|serial|snapshots|stat_tmp|subtrans)\//
const CONTROL = 'global/pg_control'

/** Copies the cluster into `target`, which is made. `url`: of any of its databases, as the superuser. */
export async function copyCluster(url: string, target: string): Promise<void> {
  await onSingleConnection(url, { name: 'backup' }, async (client) => {
    const one = async (sql: string) => (await client.query<Record<string, string>>(sql)).rows[0]!
    const { data } = await one(`SELECT current_setting('data_directory') AS data`)
    // it keeps the log that the copy will need, and is gone with this connection
    await client.query('SELECT pg_create_physical_replication_slot($1, true, true)', [`backup_${process.pid}`])
    const { first } = await one(`SELECT pg_walfile_name(pg_backup_start('pilothouse', true)) AS first`)
    // files may grow, shrink and go meanwhile: the log makes up for it
    await copyTree(data!, target, { skip: leftOut })
    await mkdir(path.join(target, 'pg_wal', 'archive_status'), { mode: 0o700 })
    // last, since it says from where the log is replayed
    await copyFile(path.join(data!, CONTROL), path.join(target, CONTROL))
    const { last, label } = await one(
      'SELECT pg_walfile_name(lsn) AS last, labelfile AS label FROM pg_backup_stop(false)',
    )
    await writeFile(path.join(target, 'backup_label'), label!, { mode: 0o600 })
    for (const name of await readdir(path.join(data!, 'pg_wal')))
      if (/^[0-9A-F]{24}$/.test(name) && name >= first! && name <= last!)
        await copyFile(path.join(data!, 'pg_wal', name), path.join(target, 'pg_wal', name))
  })
}

function leftOut(name: string): boolean {
  const base = path.basename(name)
  return (
    NOT_COPIED.has(base) ||
    base.startsWith('.s.PGSQL.') ||
    base.startsWith('pgsql_tmp') ||
    name === CONTROL ||
    EMPTY.test(name)
  )
}

/** Whether DATA_DIR has a cluster, wherever its files are. */
export function hasCluster(dataDir: string): boolean {
  return fs.existsSync(dataDir) && fs.existsSync(path.join(placeCluster(path.resolve(dataDir)).data, 'PG_VERSION'))
}

/** Makes a copy the cluster of `dataDir`, which has none yet; whole, or not at all. */
export async function placeCopy(copy: string, dataDir: string): Promise<void> {
  const { data, account } = placeCluster(path.resolve(dataDir))
  const draft = await mkdtemp(`${data}.init-`)
  try {
    const files = path.join(draft, 'data')
    await copyTree(copy, files, { owner: account })
    await rename(files, data)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Takes away what `placeCopy` has made, also when somebody has started Postgres on it and was killed. */
export async function removeCluster(dataDir: string): Promise<void> {
  const { data } = placeCluster(path.resolve(dataDir))
  const running = findPostmaster(data)
  if (running) await shutDown(running)
  await rm(data, { recursive: true, force: true })
}
