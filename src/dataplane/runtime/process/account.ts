/**
 * The account that builds and agents run under. A server that runs as root gives it up for them: their code
 * comes from a repository and must not reach the server's files and processes.
 */
import { execFileSync } from 'node:child_process'
import type { Account } from '../../../database/embedded/account.ts'

/** Every Linux and macOS has it; nothing should belong to it. Postgres runs under another one. */
const UNPRIVILEGED = 'nobody'

/** The account to change to, or null when the server is not root and so can't. Throws when there is no such account. */
export function appAccount(name: string = UNPRIVILEGED): Account | null {
  if (process.getuid?.() !== 0) return null
  const account = { uid: idOf(name, '-u'), gid: idOf(name, '-g') }
  if (account.uid === 0) throw new Error(`APP_USER ${name} is root: builds and agents need an unprivileged account`)
  return account
}

function idOf(name: string, option: '-u' | '-g'): number {
  try {
    return Number(execFileSync('id', [option, '--', name], { stdio: ['ignore', 'pipe', 'ignore'] }))
  } catch {
    throw new Error(`The account ${name} does not exist on this machine: name one for builds and agents in APP_USER`)
  }
}
