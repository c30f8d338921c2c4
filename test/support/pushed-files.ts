/** Pushes files to a bare repository, one commit per push, from a clone. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/**
 * Writes `files` into the clone `work`, commits and pushes them to `bare`. The first call creates both. Returns the
 * repository's URL.
 */
export function pushFiles({ bare, work }: { bare: string; work: string }, files: Record<string, string>): string {
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@localhost', ...args], { cwd: work })
  if (!existsSync(work)) {
    mkdirSync(work)
    execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', bare])
    git('init', '--quiet', '--initial-branch=main')
  }
  for (const [file, text] of Object.entries(files)) writeFileSync(path.join(work, file), text)
  git('add', '--all')
  git('commit', '--quiet', '--message', 'Another')
  git('push', '--quiet', bare, 'main')
  return `file://${bare}`
}
