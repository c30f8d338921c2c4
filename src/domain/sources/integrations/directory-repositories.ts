/** Finds the bare git repositories of a `directory` integration, also nested ones (`owner/name.git`), by their files. */
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** Limits, so a wrong GIT_DIRECTORY can't make a request walk a whole disk. */
const MAX_FOLDER_DEPTH = 4
const MAX_FOLDERS = 10_000

export interface DirectoryRepository {
  id: number
  name: string
  /** the parent folder; null: the root */
  owner: string | null
  url: string
  defaultBranch: string
}

/**
 * Sorted by path. A missing folder yields an empty list. Symbolic links are not followed. A repository whose HEAD is no branch is
 * left out.
 */
export async function findRepositories(root: string): Promise<DirectoryRepository[]> {
  const found: DirectoryRepository[] = []
  let budget = MAX_FOLDERS
  const walk = async (relative: string, depth: number): Promise<void> => {
    if (budget-- <= 0) return
    const folder = path.join(root, relative)
    const entries = await readdir(folder, { withFileTypes: true }).catch(emptyIfUnreadable)
    const has = (name: string) => entries.some((entry) => entry.name === name)
    if (has('HEAD') && has('objects') && has('refs')) {
      const defaultBranch = await readDefaultBranch(folder)
      if (defaultBranch !== null && relative !== '') found.push(describe(root, relative, defaultBranch))
      return
    }
    if (depth === MAX_FOLDER_DEPTH) return
    for (const entry of entries) {
      // a symbolic link is not a directory here, so the walk can't leave the root
      if (entry.isDirectory() && entry.name !== '.git') await walk(path.join(relative, entry.name), depth + 1)
    }
  }
  await walk('', 0)
  return found.sort((a, b) => (a.url < b.url ? -1 : 1))
}

function describe(root: string, relative: string, defaultBranch: string): DirectoryRepository {
  const parent = path.basename(path.dirname(relative))
  return {
    id: stableId(relative),
    name: path.basename(relative, '.git'),
    owner: parent === '.' || parent === '' ? null : parent,
    url: pathToFileURL(path.join(root, relative)).href,
    defaultBranch,
  }
}

async function readDefaultBranch(folder: string): Promise<string | null> {
  const head = await readFile(path.join(folder, 'HEAD'), 'utf8').catch(() => '')
  return /^ref: refs\/heads\/(\S+)\s*$/.exec(head)?.[1] ?? null
}

/** A hash of the path, so it is the same on every server. 52 bits are exact in JSON. */
function stableId(relative: string): number {
  const digest = createHash('sha256').update(relative.split(path.sep).join('/')).digest()
  return Number(digest.readBigUInt64BE() >> 12n)
}

function emptyIfUnreadable(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'EACCES') return []
  throw error
}
