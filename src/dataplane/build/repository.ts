/**
 * Which repositories a build may fetch from, and which refs: checked so that neither can become an option of
 * git, another protocol, or a path out of the folder of repositories.
 */
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { StepFailure } from '../failure.ts'

export interface Remote {
  /** what git is given */
  url: string
  /** the only protocol git may use for it */
  protocol: 'https' | 'http' | 'ssh' | 'file'
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
/** `git@host:path`, the short form of ssh:// */
const SCP_LIKE = /^([\w][\w.-]*)@([A-Za-z0-9][A-Za-z0-9.-]*):(?!\/\/)\/?([^\s]+)$/

/** Checks a repository URL (or an absolute path). Throws StepFailure that says what is allowed. */
export function allowedRemote(repoUrl: string, gitDirectory: string): Remote {
  const scp = SCP_LIKE.exec(repoUrl)
  if (scp) return { url: `ssh://${scp[1]}@${scp[2]}/${scp[3]}`, protocol: 'ssh' }
  if (path.isAbsolute(repoUrl)) return localRemote(repoUrl, gitDirectory)
  if (!URL.canParse(repoUrl)) throw notAllowed()
  const url = new URL(repoUrl)
  switch (url.protocol) {
    case 'https:':
      return { url: url.href, protocol: 'https' }
    case 'http:':
      // without encryption only where nobody can listen in
      if (!LOOPBACK.has(url.hostname)) throw notAllowed()
      return { url: url.href, protocol: 'http' }
    case 'ssh:':
      if (!/^[A-Za-z0-9[]/.test(url.hostname) || url.username.startsWith('-')) throw notAllowed()
      return { url: url.href, protocol: 'ssh' }
    case 'file:':
      if (url.hostname) throw notAllowed()
      return localRemote(fileURLToPath(url), gitDirectory)
    default:
      throw notAllowed()
  }
}

/** `refs/heads/<branch>` for a branch's name; a tag is given as `refs/tags/<tag>`. Throws StepFailure for no valid ref. */
export function fullRef(repoRef: string): string {
  const ref = repoRef.startsWith('refs/tags/') ? repoRef : `refs/heads/${repoRef}`
  if (!isValidRef(ref))
    throw new StepFailure(`"${repoRef}" is not a valid repo_ref: give a branch name, or refs/tags/<tag>.`)
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
    throw new StepFailure('The repository does not exist below GIT_DIRECTORY: only repositories there can be built.')
  return { url: `file://${real}`, protocol: 'file' }
}

function realPath(file: string): string | null {
  try {
    return fs.realpathSync(file)
  } catch {
    return null
  }
}

function notAllowed(): StepFailure {
  return new StepFailure(
    'This repo_url is not allowed: use https://, ssh://, or file:// for a repository below GIT_DIRECTORY.',
  )
}
