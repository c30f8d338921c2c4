/**
 * Copies the files of a backup in both directions: backup.json (manifest), postgres/ (embedded cluster) or databases/
 * (`server.dump` and `app_….dump` for each agent's database), and data/ (DATA_DIR, checked before use). The folder is readable by
 * the server's account only.
 */
import fs from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { createLayout, type Layout } from '../../dataplane/process/isolation/layout.ts'
import { type Config, ConfigError } from '../../platform/config/config.ts'
import { copyTree } from '../../platform/files/copy-tree.ts'
import { hasCluster } from '../../platform/postgres/embedded/base-backup.ts'
import { dataDirsInUse } from '../../platform/postgres/embedded/postmaster.ts'

/** The operation failed. `message`: why and what to do, for people. */
export class BackupError extends Error {}

const MANIFEST = z.object({
  format: z.literal(1),
  /** `postgres`: files of the embedded one; `dumps`; null: backed up by another tool */
  databases: z.enum(['postgres', 'dumps']).nullable(),
  /** platform of the embedded Postgres's files: `linux-x64` */
  machine: z.string(),
  keys: z.boolean(),
})

export type Manifest = z.output<typeof MANIFEST>

export const MACHINE = `${process.platform}-${process.arch}`

/** Throws BackupError when there is no backup, or a newer version made it. */
export async function readManifest(backup: string): Promise<Manifest> {
  const text = await readFile(path.join(backup, 'backup.json'), 'utf8').catch(() => {
    throw new BackupError(`${backup} is no backup: it has no backup.json.`)
  })
  const manifest = MANIFEST.safeParse(JSON.parse(text))
  if (!manifest.success) throw new BackupError(`${backup} was made by a newer version: restore it with that one.`)
  return manifest.data
}

/** Entries of DATA_DIR in a backup, except `apps`. */
function ofDataDir(config: Config, databases: Manifest['databases']): string[] {
  const inside = path.resolve(config.GIT_DIRECTORY) === path.resolve(config.DATA_DIR, 'git')
  return [
    ...(config.SECRETS_KEYS ? [] : ['secrets.key']),
    ...(databases === 'postgres' ? ['postgres-password'] : []),
    ...(inside ? ['git'] : []),
    'ports',
    'uploads',
  ]
}

/**
 * Copies the needed parts of DATA_DIR into `target`, which it creates. Run it after the database backup, which knows the
 * files it needs. Left out: files that can be created again or belong to this machine (checkouts, processes, programs,
 * agents' HOME).
 */
export async function saveFiles(config: Config, databases: Manifest['databases'], target: string): Promise<void> {
  await mkdir(path.join(target, 'apps'), { recursive: true, mode: 0o700 })
  for (const name of ofDataDir(config, databases))
    if (fs.existsSync(path.join(config.DATA_DIR, name)))
      await copyTree(path.join(config.DATA_DIR, name), path.join(target, name), {
        skip: (inner) => inner === '.incoming',
      })
  const layout = layoutOf(config)
  for (const id of await readdir(layout.apps)) {
    const app = layout.app(id)
    const copy = path.join(target, 'apps', id)
    await mkdir(copy, { mode: 0o700 })
    if (fs.existsSync(app.database)) await copyTree(app.database, path.join(copy, 'database.json'))
    if (!fs.existsSync(app.artifacts)) continue
    // skips copies of artifacts made for runs
    await copyTree(app.artifacts, path.join(copy, 'artifacts'), { skip: (name) => /^[^/]+\/tree-/.test(name) })
    // an artifact removed during the copy may be incomplete
    for (const name of await readdir(path.join(copy, 'artifacts')))
      if (!fs.existsSync(path.join(app.artifacts, name, 'artifact.json')))
        await rm(path.join(copy, 'artifacts', name), { recursive: true, force: true })
  }
}

/** Copies the files back into an empty DATA_DIR. */
export async function bringFilesBack(config: Config, source: string): Promise<void> {
  const layout = layoutOf(config)
  for (const name of await readdir(source))
    if (name !== 'apps') {
      await rm(path.join(config.DATA_DIR, name), { recursive: true, force: true }) // the layout's empty folders
      await copyTree(path.join(source, name), path.join(config.DATA_DIR, name))
    }
  for (const id of await readdir(path.join(source, 'apps')))
    await copyTree(path.join(source, 'apps', id), layout.app(id).root)
}

/** Stands for the deployments' accounts when the server is root; any account that is not ours. */
const ANYBODY = { uid: 65_534, gid: 65_534 }

/** Layout of the agents' folders, which are outside DATA_DIR when the agents' accounts can't reach it. */
export function layoutOf(config: Config): Layout {
  return createLayout(path.resolve(config.DATA_DIR), process.getuid?.() === 0 ? ANYBODY : null)
}

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
