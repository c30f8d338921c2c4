/**
 * Copies sealed artifacts for runs. A run owns its copy, because agents write next to their code. Packages owned by root are
 * hard-linked; README.md explains why that is safe.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import { isNoSpaceError } from '../../output/no-space.ts'
import { chownTree, removeTrees } from '../isolation/untrusted-trees.ts'
import { signalProcesses } from '../processes/process-tags.mjs'

/** `$1` source and `$2` target, absolute, in folders that only root can enter; `$3` owner. pnpm keeps all packages in `.pnpm`. */
const COPY_WITH_LINKS = `set -e
cp -al -- "$1" "$2"
cd "$1"
{ find . -type d -name node_modules -prune -o -type f -print0
  find . -type f '(' -path '*/node_modules/.[!p]*' -o -path '*/node_modules/.p[!n]*' ')' -print0
} | xargs -0r cp -a --reflink=auto --parents --remove-destination -t "$2" --
cd "$2"
find . '(' -type d -o -links 1 ')' -exec chown -h "$3" '{}' +
chmod 700 .`

/** Options of cp for GNU, macOS, other systems. The first two share file contents where the file system can. */
const CP_OPTIONS = [['-a', '--reflink=auto'], ['-cRPp'], ['-RPp']]

export interface CopyOptions {
  account: Account | null
  signal: AbortSignal
  idle?: boolean
}

/** Copies a folder to `to`, which must not exist. Rejects when it fails or the signal aborts; then `to` does not exist. */
export async function copyTree(from: string, to: string, options: CopyOptions): Promise<void> {
  const { account, signal } = options
  const owner = account && `${account.uid}:${account.gid}`
  const ways = CP_OPTIONS.map((how) => async () => {
    await run('cp', [...how, '--', from, to], options)
    if (account) await chownTree(to, account)
    fs.chmodSync(to, 0o700)
  })
  if (owner) ways.unshift(() => run('/bin/sh', ['-c', COPY_WITH_LINKS, 'sh', from, to, owner], options))
  for (const [tried, way] of ways.entries()) {
    try {
      return await way()
    } catch (error) {
      await removeTrees(to)
      // other systems' programs have other options: try the next way
      if (signal.aborted || isNoSpaceError(error) || tried === ways.length - 1) throw error
    }
  }
}

async function run(file: string, args: string[], { signal, idle }: CopyOptions): Promise<void> {
  signal.throwIfAborted()
  const child = spawn(file, args, { cwd: '/', detached: true, stdio: ['ignore', 'ignore', 'pipe'] })
  const closed = once(child, 'close') as Promise<[number | null]>
  const { pid } = child
  if (pid === undefined) return void (await closed)
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr = `${stderr}${text}`.slice(-2000)
  })
  const kill = () => signalProcesses([-pid], 'SIGKILL')
  signal.addEventListener('abort', kill, { once: true })
  try {
    if (idle) os.setPriority(pid, os.constants.priority.PRIORITY_LOW)
    const [code] = await closed
    signal.throwIfAborted()
    if (code !== 0) throw Object.assign(new Error(`${file} failed: ${stderr.trim()}`), { stderr })
  } finally {
    signal.removeEventListener('abort', kill)
  }
}
