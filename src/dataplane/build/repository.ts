/**
 * Which repositories a build may fetch from, and which refs: checked so that neither can become an option of
 * git, another protocol, or a path out of the folder of repositories.
 */
import fs from 'node:fs'
import path from 'node:path'
import { parseRepoUrl } from '../../domain/values/repository-url.ts'
import { StepFailure } from '../output/step-failure.ts'

export interface Remote {
  /** what git is given */
  url: string
  /** the only protocol git may use for it */
  protocol: 'https' | 'http' | 'ssh' | 'file'
}

/**
 * Checks a repository URL (or an absolute path) again, whoever stored it. Throws StepFailure that says what is allowed.
 */
export function allowedRemote(repoUrl: string, gitDirectory: string): Remote {
  const parsed = parseRepoUrl(repoUrl)
  if (typeof parsed === 'string') throw new StepFailure('CONFIG_INVALID', `This repo_url is not allowed: ${parsed}`)
  if (parsed.protocol === 'file') return localRemote(parsed.path, gitDirectory)
  const url = new URL(parsed.url)
  // one spelling of a name: the address that was checked is pinned by it
  url.hostname = url.hostname.replace(/\.$/, '')
  return { ...parsed, url: url.href }
}

/** `refs/heads/<branch>` for a branch's name; a tag is given as `refs/tags/<tag>`. Throws StepFailure for no valid ref. */
export function fullRef(repoRef: string): string {
  const ref = repoRef.startsWith('refs/tags/') ? repoRef : `refs/heads/${repoRef}`
  if (!isValidRef(ref))
    throw new StepFailure(
      'CONFIG_INVALID',
      `"${repoRef}" is not a valid repo_ref: give a branch name, or refs/tags/<tag>.`,
    )
  return ref
}

/** The rules of git-check-ref-format(1), and no part that starts with a dash. */
function isValidRef(ref: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is forbidden
  if (/[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\.$/.test(ref)) return false
  return ref.split('/').every((part) => part !== '' && part !== '@' && !/^[.-]|\.lock$/.test(part))
}

function localRemote(repository: string, gitDirectory: string): Remote {
  const allowed = realPath(gitDirectory)
  const real = realPath(repository)
  // also for a path that does not exist: what is outside must not be told apart
  if (!allowed || !real?.startsWith(allowed + path.sep))
    throw new StepFailure(
      'CONFIG_INVALID',
      'The repository does not exist below GIT_DIRECTORY: only repositories there can be built.',
    )
  return { url: `file://${real}`, protocol: 'file' }
}

function realPath(file: string): string | null {
  try {
    return fs.realpathSync(file)
  } catch {
    return null
  }
}
