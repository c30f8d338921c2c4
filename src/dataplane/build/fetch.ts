/**
 * Fetches one commit of a repository and writes its files into a folder.
 */
import fs from 'node:fs'
import { StepFailure } from '../output/failure.ts'
import type { Git } from './git.ts'
import type { Remote } from './repository.ts'

const LOCAL_REF = 'refs/pilothouse/source'

export interface Source {
  remote: Remote
  /** full name, see fullRef() */
  ref: string
  /** the commit of an earlier build, to be used instead of what the ref points to now */
  commit: string | null
}

/**
 * `onCommit` gets the exact commit before its files are written: should that fail, it is still this one. `folder` is
 * the empty repository that `git` works on, `tree` the empty folder for the files.
 */
export async function fetchSource(
  git: Git,
  source: Source,
  folder: string,
  tree: string,
  onCommit: (commit: string) => void,
): Promise<void> {
  fs.mkdirSync(folder, { mode: 0o700 })
  await git.run(['init', '--quiet', '--bare', '--template=', '--', folder])
  const commit = await fetchCommit(git, source)
  onCommit(commit)
  fs.mkdirSync(tree, { mode: 0o711 })
  await git.run([`--work-tree=${tree}`, 'checkout', '--quiet', '--force', '--detach', commit])
}

async function fetchCommit(git: Git, { remote, ref, commit }: Source): Promise<string> {
  const fetch = (what: string, ...options: string[]) =>
    git.run(['fetch', '--quiet', '--no-tags', '--no-recurse-submodules', ...options, '--', remote.url, what])
  if (!commit) {
    await fetch(`+${ref}:${LOCAL_REF}`, '--depth=1')
    return git.run(['rev-parse', '--verify', '--quiet', `${LOCAL_REF}^{commit}`])
  }
  if (!/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(commit))
    throw new StepFailure('CONFIG_INVALID', 'repo_commit_sha is not a commit.')
  try {
    await fetch(`+${commit}:${LOCAL_REF}`, '--depth=1')
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error
    // a host may hand out only what its refs point to: look in the ref's history
    await fetch(`+${ref}:${LOCAL_REF}`)
  }
  try {
    return await git.run(['rev-parse', '--verify', '--quiet', `${commit}^{commit}`])
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error
    throw new StepFailure(
      'CLONE_FAILED',
      `Commit ${commit} is not in the repository any more: set repo_ref, which makes a revision of what it names now.`,
    )
  }
}
