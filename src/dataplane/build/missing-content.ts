/**
 * What a checkout leaves without its content: files in Git LFS, of which the repository has pointers only, and
 * submodules, which are repositories of their own. An agent that needs them fails where nobody looks for the cause.
 */
import fs from 'node:fs'
import path from 'node:path'
import type { Git } from './git.ts'

/** names in one warning; of more there is the number */
const MAX_NAMES = 10
/** what every pointer begins with, https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md; none has 1024 bytes */
const POINTER = 'version https://git-lfs.github.com/spec/v1\n'
const MAX_POINTER_BYTES = 1024

/** Lines for the build log, none when all content is there. `tree`: what `git` has just checked out. */
export async function missingContent(git: Git, tree: string): Promise<string[]> {
  const worktree = `--work-tree=${tree}`
  const lfs = lines(await git.run([worktree, 'ls-files', '--', ':(attr:filter=lfs)']))
  const pointers: string[] = []
  for (const name of lfs) if (await isPointer(path.join(tree, name))) pointers.push(name)
  const links = lines(await git.run(['ls-files', '--stage'], (line) => line.startsWith('160000 ')))
  const submodules = links.map((line) => line.slice(line.indexOf('\t') + 1))
  return [
    ...(pointers.length > 0
      ? [`Git LFS is not fetched: of ${countAndNames('file', pointers)} only the pointer is deployed, not the content.`]
      : []),
    ...(submodules.length > 0
      ? [`Submodules are not fetched: ${countAndNames('folder', submodules)} will be empty.`]
      : []),
  ]
}

const lines = (output: string) => output.split('\n').filter(Boolean)

/** `2 files (a.bin, b.bin)` */
function countAndNames(what: string, names: string[]): string {
  const more = names.length > MAX_NAMES ? `, … and ${names.length - MAX_NAMES} more` : ''
  return `${names.length} ${what}${names.length > 1 ? 's' : ''} (${names.slice(0, MAX_NAMES).join(', ')}${more})`
}

/** Of a name with quotes or control characters, which git quotes, and of a symlink, nothing is said. */
async function isPointer(file: string): Promise<boolean> {
  const stat = await fs.promises.lstat(file).catch(() => null)
  if (!stat?.isFile() || stat.size >= MAX_POINTER_BYTES) return false
  return (await fs.promises.readFile(file, 'utf8')).startsWith(POINTER)
}
