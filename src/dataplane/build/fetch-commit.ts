/** Fetches one commit of a repository and checks out its files into a folder. */
import { StepFailure } from '../output/step-failure.ts'
import type { Git } from './git.ts'
import type { Remote } from './repository.ts'

/** Commit metadata for people: first line of the message and the author's name. Absent when git can't read it. */
interface CommitInfo {
  message?: string
  author?: string
}
export type OnCommit = (commit: string, says?: CommitInfo) => void

/** longer texts are cut */
const MAX_INFO_CHARACTERS = 1000

const LOCAL_REF = 'refs/pilothouse/source'

export interface CommitSource {
  remote: Remote
  ref: string
  /** commit of an earlier build, used instead of the ref's present commit */
  commit: string | null
}

/**
 * Checks out the commit into `tree`; `folder` becomes git's bare repository. Both must not exist. `onCommit` gets the commit
 * before its files are written, so a build that fails later still records it.
 */
export async function checkOutCommit(
  git: Git,
  source: CommitSource,
  folder: string,
  tree: string,
  onCommit: OnCommit,
): Promise<void> {
  git.makeFolder(folder, 0o700)
  await git.run(['init', '--quiet', '--bare', '--template=', '--', folder])
  const commit = await fetchCommit(git, source)
  onCommit(commit, await readCommitInfo(git, commit))
  git.makeFolder(tree, 0o711)
  await git.run([`--work-tree=${tree}`, 'checkout', '--quiet', '--force', '--detach', commit])
}

/** Reads the commit's metadata. A failure does not fail the build: the metadata is only informative. */
async function readCommitInfo(git: Git, commit: string): Promise<CommitInfo> {
  try {
    const lines = (await git.run(['log', '-1', '--no-show-signature', '--format=a%an%nm%s', commit])).split('\n')
    const after = (mark: string) => lines.find((line) => line.startsWith(mark))?.slice(1, 1 + MAX_INFO_CHARACTERS)
    const [author, message] = [after('a'), after('m')]
    return { ...(author ? { author } : {}), ...(message ? { message } : {}) }
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error
    return {}
  }
}

async function fetchCommit(git: Git, { remote, ref, commit }: CommitSource): Promise<string> {
  const fetch = (refspec: string, ...options: string[]) =>
    git.run(['fetch', '--quiet', '--no-tags', '--no-recurse-submodules', ...options, '--', remote.url, refspec])
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
    // some hosts only serve commits that a ref points to: search the ref's history
    await fetch(`+${ref}:${LOCAL_REF}`)
  }
  try {
    return await git.run(['rev-parse', '--verify', '--quiet', `${commit}^{commit}`])
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error
    throw new StepFailure(
      'CLONE_FAILED',
      `Commit ${commit} no longer exists in the repository: set repo_ref to create a revision from its present commit.`,
    )
  }
}
