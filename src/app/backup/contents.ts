/**
 * What a backup consists of. It is a folder for the server's account alone:
 *   backup.json   what it is of
 *   postgres/     the embedded Postgres, all of it
 *   databases/    or dumps, of any Postgres: `server.dump`, and `app_….dump` for each agent's database
 *   data/         of DATA_DIR: the key file, uploads, repositories, ports; `apps/<deployment>` with artifacts and passwords
 * Not in it is what can be made again or belongs to this machine: checkouts, processes, programs, HOME and temporary folders
 * of agents. Of these a new container has nothing either.
 */
import fs from 'node:fs'
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { createLayout, type Layout } from '../../dataplane/runtimes/process/processes/layout.ts'
import type { Config } from '../../platform/config/config.ts'
import { copyTree } from '../../platform/files/copy-tree.ts'

/** It can't be done. `message`: why, and what to do, for people. */
export class BackupError extends Error {}

const MANIFEST = z.object({
  format: z.literal(1),
  /** `postgres`: the files of the embedded one; `dumps`; null: by other means */
  databases: z.enum(['postgres', 'dumps']).nullable(),
  /** what files of the embedded Postgres are of use on: `linux-x64` */
  machine: z.string(),
  /** whether the key file is in it */
  keys: z.boolean(),
})

export type Manifest = z.output<typeof MANIFEST>

export const MACHINE = `${process.platform}-${process.arch}`

/** Throws BackupError when there is no backup, or one that this version can't read. */
export async function readManifest(backup: string): Promise<Manifest> {
  const text = await readFile(path.join(backup, 'backup.json'), 'utf8').catch(() => {
    throw new BackupError(`${backup} is no backup: it has no backup.json.`)
  })
  const manifest = MANIFEST.safeParse(JSON.parse(text))
  if (!manifest.success) throw new BackupError(`${backup} was made by a newer version: restore it with that one.`)
  return manifest.data
}

/** Folders and files of DATA_DIR, beside what is in `apps`. */
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

/** Copies what is to be kept of DATA_DIR into `target`, which is made. Later than the databases, which know what has to be there. */
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
    // copies of what was built, which are made for runs, are beside it
    await copyTree(app.artifacts, path.join(copy, 'artifacts'), { skip: (name) => /^[^/]+\/tree-/.test(name) })
    // one that was removed meanwhile may be here in part
    for (const name of await readdir(path.join(copy, 'artifacts')))
      if (!fs.existsSync(path.join(app.artifacts, name, 'artifact.json')))
        await rm(path.join(copy, 'artifacts', name), { recursive: true, force: true })
  }
}

/** Copies it back into a DATA_DIR that has nothing of it. */
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

/** Stands for the accounts that code of deployments runs under when the server is root: any that is not ours. */
const ANYBODY = { uid: 65_534, gid: 65_534 }

/** Where agents' folders are: elsewhere than in DATA_DIR when their accounts could not reach that. */
export function layoutOf(config: Config): Layout {
  return createLayout(path.resolve(config.DATA_DIR), process.getuid?.() === 0 ? ANYBODY : null)
}
