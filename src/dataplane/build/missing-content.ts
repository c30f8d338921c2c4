/**
 * Warns about files that a checkout leaves without content: Git LFS files (the repository has only pointers) and submodules. An
 * agent that needs them would otherwise fail with a misleading error.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Git } from './git.ts'

/** names listed in one warning */
const MAX_NAMES = 10
/** first line of every pointer (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md); pointers are under 1024 bytes */
const POINTER = 'version https://git-lfs.github.com/spec/v1\n'
const MAX_POINTER_BYTES = 1024

/** Warnings for the build log; empty when no content is missing. `tree`: what `git` has just checked out. */
export async function missingContent(git: Git, tree: string): Promise<string[]> {
  const worktree = `--work-tree=${tree}`
  const lfs = lines(await git.run([worktree, 'ls-files', '--', ':(attr:filter=lfs)']))
  const pointers: string[] = []
  for (const name of lfs) if (await isPointer(path.join(tree, name))) pointers.push(name)
  const links = lines(await git.run(['ls-files', '--stage'], (line) => line.startsWith('160000 ')))
  const submodules = links.map((line) => line.slice(line.indexOf('\t') + 1))
  return [
    ...(pointers.length > 0
      ? [`Git LFS content is not fetched: ${countAndNames('file', pointers)} will contain only a pointer.`]
      : []),
    ...(submodules.length > 0
      ? [`Submodules are not fetched: ${countAndNames('folder', submodules)} will be empty.`]
      : []),
  ]
}

const lines = (output: string) => output.split('\n').filter(Boolean)

/** `2 files (a.bin, b.bin)` */
function countAndNames(noun: string, names: string[]): string {
  const more = names.length > MAX_NAMES ? `, … and ${names.length - MAX_NAMES} more` : ''
  return `${names.length} ${noun}${names.length > 1 ? 's' : ''} (${names.slice(0, MAX_NAMES).join(', ')}${more})`
}

/** False for symlinks and for names with quotes or control characters, which git prints quoted. */
async function isPointer(file: string): Promise<boolean> {
  const stat = await fs.promises.lstat(file).catch(() => null)
  if (!stat?.isFile() || stat.size >= MAX_POINTER_BYTES) return false
  return (await fs.promises.readFile(file, 'utf8')).startsWith(POINTER)
}
