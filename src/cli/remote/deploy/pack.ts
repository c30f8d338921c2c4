/** Packs a local folder as a gzip tarball: in a git repository without ignored files, otherwise all but .git and node_modules. */
import { execFile } from 'node:child_process'
import { lstatSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { UsageError } from '../../terminal/command.ts'

export interface Tarball {
  file: string
  /** bytes */
  size: number
  remove(): Promise<void>
}

/** Defaults of --config by priority: graph configuration files, then files of applications without graphs. */
export const CONFIG_FILES = ['langgraph.json', 'graph.json', 'package.json', 'pyproject.toml', 'Procfile', 'Dockerfile']

/** Throws UsageError if the folder has none of CONFIG_FILES. */
export function defaultConfig(folder: string): string {
  checkFolder(folder)
  const found = CONFIG_FILES.find((name) => statSync(path.join(folder, name), { throwIfNoEntry: false })?.isFile())
  if (found !== undefined) return found
  throw new UsageError(
    `--dir ${folder} has none of ${CONFIG_FILES.join(', ')}. Pass the graph configuration file with --config.`,
  )
}

function checkFolder(folder: string): void {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw new UsageError(`--dir ${folder} is not a folder.`)
}

/** Throws UsageError if the folder is missing or has no files. */
export async function pack(folder: string): Promise<Tarball> {
  checkFolder(folder)
  const { create } = await import('tar')
  const temporary = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-source-'))
  const remove = () => rm(temporary, { recursive: true, force: true })
  try {
    const file = path.join(temporary, 'source.tar.gz')
    const files = await gitFiles(folder)
    if (files?.length === 0) throw new UsageError(`--dir ${folder} has no files.`)
    const options = { cwd: folder, file, gzip: true, portable: true, noDirRecurse: files !== null, filter: isIncluded }
    await create(options, files ?? ['.'])
    return { file, size: statSync(file).size, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

const isIncluded = (entry: string) => !entry.split('/').some((part) => part === '.git' || part === 'node_modules')

/** Relative paths that git does not ignore; null: no repository or no git */
async function gitFiles(folder: string): Promise<string[] | null> {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z']
  const listed = await promisify(execFile)('git', args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 }).catch(() => null)
  if (!listed) return null
  // git also lists deleted files
  const present = (name: string) => name !== '' && lstatSync(path.join(folder, name), { throwIfNoEntry: false })
  return listed.stdout.split('\0').filter(present)
}
