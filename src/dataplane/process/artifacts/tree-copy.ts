/**
 * Copies sealed artifacts for runs, which own their copies (README.md). Keeps one copy ready for the next start, next to the
 * artifact's tree, in a folder that only the server can enter.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
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

const MAX_DRAFT_AGE_MS = 3_600_000

/** Options of cp for GNU, macOS, other systems. The first two share file contents where the file system can. */
const CP_OPTIONS = [['-a', '--reflink=auto'], ['-cRPp'], ['-RPp']]

export interface CopyOptions {
  account: Account | null
  signal: AbortSignal
  idle?: boolean
}

/** Puts a copy of a sealed tree at `to`, which must not exist: the spare copy if there is one, else a new copy. */
export async function takeCopy(tree: string, to: string, options: CopyOptions): Promise<void> {
  const spare = sparePath(tree)
  if (!isOwnedBy(spare, options)) await removeTrees(spare)
  await fs.promises.rename(spare, to).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    await fs.promises.rename(await newCopy(tree, options), to)
  })
}

export async function makeSpareCopy(tree: string, options: CopyOptions): Promise<void> {
  await removeOldDrafts(tree)
  const spare = sparePath(tree)
  if (isOwnedBy(spare, options)) return
  const draft = await newCopy(tree, options)
  await fs.promises.rename(draft, spare).catch(() => removeTrees(draft))
}

const sparePath = (tree: string): string => `${tree}-spare`

function isOwnedBy(spare: string, { account }: CopyOptions): boolean {
  const found = fs.lstatSync(spare, { throwIfNoEntry: false })
  return found?.uid === (account?.uid ?? process.getuid?.())
}

async function removeOldDrafts(tree: string): Promise<void> {
  const folder = path.dirname(tree)
  const isOld = (name: string) => {
    const found = fs.lstatSync(path.join(folder, name), { throwIfNoEntry: false })
    return found && Date.now() - found.ctimeMs > MAX_DRAFT_AGE_MS
  }
  const old = fs.readdirSync(folder).filter((name) => name.startsWith(`${path.basename(tree)}-draft-`) && isOld(name))
  await removeTrees(...old.map((name) => path.join(folder, name)))
}

/** Copies a tree into a folder next to it, and returns its path. Leaves nothing when it fails or the signal aborts. */
async function newCopy(tree: string, options: CopyOptions): Promise<string> {
  const { account, signal } = options
  const draft = `${tree}-draft-${randomUUID()}`
  const owner = account && `${account.uid}:${account.gid}`
  const ways = CP_OPTIONS.map((how) => async () => {
    await run('cp', [...how, '--', tree, draft], options)
    if (account) await chownTree(draft, account)
    fs.chmodSync(draft, 0o700)
  })
  if (owner) ways.unshift(() => run('/bin/sh', ['-c', COPY_WITH_LINKS, 'sh', tree, draft, owner], options))
  for (const [tried, way] of ways.entries()) {
    try {
      await way()
      break
    } catch (error) {
      await removeTrees(draft)
      // other systems' programs have other options: try the next way
      if (signal.aborted || isNoSpaceError(error) || tried === ways.length - 1) throw error
    }
  }
  return draft
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
