/**
 * Backs up the running embedded Postgres: copies its files between `pg_backup_start` and `pg_backup_stop`, plus the WAL
 * written during the copy. Includes all databases, roles and passwords. The first start on the copy replays the WAL.
 */
import fs from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { copyTree } from '../../files/copy-tree.ts'
import { onSingleConnection } from '../single-connection.ts'
import { placeCluster } from './account.ts'
import { findPostmaster, shutDown } from './postmaster.ts'

/** Files of this machine or moment; Postgres creates them again. */
const NOT_COPIED = new Set(['postmaster.pid', 'postmaster.opts', 'pg_internal.init'])
/** Folders that the copy needs, empty. */
const EMPTY = /^pg_(wal|replslot|dynshmem|notify|serial|snapshots|stat_tmp|subtrans)\//
const CONTROL = 'global/pg_control'

/** Copies the cluster into `target`, which it creates. `url`: any of its databases, as superuser. */
export async function copyCluster(url: string, target: string): Promise<void> {
  await onSingleConnection(url, { name: 'backup' }, async (client) => {
    const one = async (sql: string) => (await client.query<Record<string, string>>(sql)).rows[0]!
    const { data } = await one(`SELECT current_setting('data_directory') AS data`)
    // temporary slot: keeps the WAL that the copy needs, until this connection closes
    await client.query('SELECT pg_create_physical_replication_slot($1, true, true)', [`backup_${process.pid}`])
    const { first } = await one(`SELECT pg_walfile_name(pg_backup_start('pilothouse', true)) AS first`)
    // files may change during the copy: the WAL repairs that
    await copyTree(data!, target, { skip: leftOut })
    await mkdir(path.join(target, 'pg_wal', 'archive_status'), { mode: 0o700 })
    // last, because it defines where replay starts
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

/** Whether DATA_DIR has a cluster, in any location. */
export function hasCluster(dataDir: string): boolean {
  return fs.existsSync(dataDir) && fs.existsSync(path.join(placeCluster(path.resolve(dataDir)).data, 'PG_VERSION'))
}

/** Installs a copy as the cluster of `dataDir`, which has none. All or nothing. */
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

/** Removes the cluster of `placeCopy`, and stops a Postgres left running on it. */
export async function removeCluster(dataDir: string): Promise<void> {
  const { data } = placeCluster(path.resolve(dataDir))
  const running = findPostmaster(data)
  if (running) await shutDown(running)
  await rm(data, { recursive: true, force: true })
}
