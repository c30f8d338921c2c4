/**
 * Validates repository URLs. Git must not read a URL as an option or use another protocol.
 * A URL must not contain a password or token, because every reader sees it. The data plane checks local paths.
 */
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export type RepoUrl =
  | { protocol: 'https' | 'http' | 'ssh'; url: string }
  /** absolute */
  | { protocol: 'file'; path: string }

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])
/** `git@host:path`, the short form of ssh:// */
const SCP_LIKE = /^([\w][\w.-]*)@([A-Za-z0-9][A-Za-z0-9.-]*):(?!\/\/)\/?([^\s]+)$/

const ALLOWED =
  'Must be an https:// or ssh:// URL, git@host:path, or file:// for a repository below GIT_DIRECTORY; http:// for localhost only.'
const CREDENTIALS =
  'Must not contain a user name or password, because every reader sees the URL; only ssh:// accepts a user name, as in ssh://git@host/path.'
// no host needs a query for a clone, and git would append its own path to it
const QUERY =
  'Must not contain a query string (?…) or fragment (#…), because a clone does not need them and every reader would see a token there.'

/** Parses a URL or an absolute path. Returns a sentence that says why the text is invalid. */
export function parseRepoUrl(text: string): RepoUrl | string {
  if (path.isAbsolute(text)) return { protocol: 'file', path: text }
  const scp = SCP_LIKE.exec(text)
  if (!scp && !URL.canParse(text)) return ALLOWED
  if (/[?#]/.test(text)) return QUERY
  if (scp) return { protocol: 'ssh', url: `ssh://${scp[1]}@${scp[2]}/${scp[3]}` }
  const url = new URL(text)
  switch (url.protocol) {
    case 'https:':
      return url.username || url.password ? CREDENTIALS : { protocol: 'https', url: url.href }
    case 'http:':
      // unencrypted only on this machine
      if (!LOOPBACK.has(url.hostname)) return ALLOWED
      return url.username || url.password ? CREDENTIALS : { protocol: 'http', url: url.href }
    case 'ssh:':
      if (!/^[A-Za-z0-9[]/.test(url.hostname) || url.username.startsWith('-')) return ALLOWED
      return url.password ? CREDENTIALS : { protocol: 'ssh', url: url.href }
    case 'file:':
      return localPath(url)
    default:
      return ALLOWED
  }
}

function localPath(url: URL): RepoUrl | string {
  if (url.hostname) return ALLOWED
  try {
    return { protocol: 'file', path: fileURLToPath(url) }
  } catch {
    // the path contains an encoded slash
    return ALLOWED
  }
}
