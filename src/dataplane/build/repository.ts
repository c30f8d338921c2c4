/**
 * Checks repository URLs and refs of a build, so that neither can become an option of git, another protocol, or a path outside
 * GIT_DIRECTORY.
 */
import fs from 'node:fs'
import path from 'node:path'
import { parseRepoUrl } from '../../domain/values/repository-url.ts'
import { StepFailure } from '../output/step-failure.ts'

export interface Remote {
  url: string
  protocol: 'https' | 'http' | 'ssh' | 'file'
}

/**
 * Checks a repository URL or an absolute path again, although it was checked when stored. Throws StepFailure that names the rule.
 */
export function allowedRemote(repoUrl: string, gitDirectory: string): Remote {
  const parsed = parseRepoUrl(repoUrl)
  if (typeof parsed === 'string') throw new StepFailure('CONFIG_INVALID', `This repo_url is not allowed: ${parsed}`)
  if (parsed.protocol === 'file') return localRemote(parsed.path, gitDirectory)
  const url = new URL(parsed.url)
  // one spelling of the name: the checked address is pinned to it
  url.hostname = url.hostname.replace(/\.$/, '')
  return { ...parsed, url: url.href }
}

/** `refs/heads/<branch>` for a branch name; `refs/tags/<tag>` stays. Throws StepFailure for an invalid ref. */
export function fullRef(repoRef: string): string {
  const ref = repoRef.startsWith('refs/tags/') ? repoRef : `refs/heads/${repoRef}`
  if (!isValidRef(ref))
    throw new StepFailure(
      'CONFIG_INVALID',
      `"${repoRef}" is not a valid repo_ref: give a branch name, or refs/tags/<tag>.`,
    )
  return ref
}

/** Rules of git-check-ref-format(1); also, no part may start with a dash. */
function isValidRef(ref: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: this rejects control characters
  if (/[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\.$/.test(ref)) return false
  return ref.split('/').every((part) => part !== '' && part !== '@' && !/^[.-]|\.lock$/.test(part))
}

function localRemote(repository: string, gitDirectory: string): Remote {
  const allowed = realPath(gitDirectory)
  const real = realPath(repository)
  // same message for a missing path: it must not reveal what exists outside
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
