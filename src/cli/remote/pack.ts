/** A local folder as a gzip tarball: what git does not ignore, where the folder is in a repository, else all but .git and node_modules. */
import { execFile } from 'node:child_process'
import { lstatSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { UsageError } from '../terminal/command.ts'

export interface Packed {
  file: string
  /** bytes */
  size: number
  remove(): Promise<void>
}

/** Defaults of --config, in this order: graph configuration files, then files of applications without graphs. */
const CONFIG_FILES = ['langgraph.json', 'graph.json', 'package.json', 'pyproject.toml', 'Procfile', 'Dockerfile']

/** The first of CONFIG_FILES in the folder. Throws UsageError. */
export function defaultConfig(folder: string): string {
  checkFolder(folder)
  const found = CONFIG_FILES.find((name) => statSync(path.join(folder, name), { throwIfNoEntry: false })?.isFile())
  if (found !== undefined) return found
  throw new UsageError(
    `--dir ${folder} has none of ${CONFIG_FILES.join(', ')}: name the graph configuration file with --config.`,
  )
}

function checkFolder(folder: string): void {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--dir ${folder} is not a folder.`)
}

/** Throws UsageError for what is no folder, or has nothing in it. */
export async function pack(folder: string): Promise<Packed> {
  checkFolder(folder)
  const { create } = await import('tar')
  const temporary = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-source-'))
  const remove = () => rm(temporary, { recursive: true, force: true })
  try {
    const file = path.join(temporary, 'source.tar.gz')
    const files = await filesOf(folder)
    if (files?.length === 0) throw new UsageError(`--dir ${folder} has no files.`)
    const how = { cwd: folder, file, gzip: true, portable: true, noDirRecurse: files !== null, filter: wanted }
    await create(how, files ?? ['.'])
    return { file, size: statSync(file).size, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

const wanted = (entry: string) => !entry.split('/').some((part) => part === '.git' || part === 'node_modules')

/** Relative paths that git tracks or would; null: the folder is in no repository, or there is no git. */
async function filesOf(folder: string): Promise<string[] | null> {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  const listed = await promisify(execFile)('git', args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 }).catch(() => null)
  if (!listed) return null
  // git names deleted files, too
  const present = (name: string) => name !== '' && lstatSync(path.join(folder, name), { throwIfNoEntry: false })
  return listed.stdout.split('\0').filter(present)
}
