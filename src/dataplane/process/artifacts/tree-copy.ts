/**
 * Seals the output of a build, so that no account of a deployment can change it, and copies it for runs, which own their copies
 * (README.md). One copy is ready for the next start, next to the artifact's tree, in a folder that only the server can enter.
 */
import { execFile, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import { isNoSpaceError } from '../../output/step-failure.ts'
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

const exec = promisify(execFile)

/**
 * Seals a tree that `account` (null: the server) owns, and closes the folder that contains only this tree. Root becomes the
 * owner. Removes devices, pipes, sockets, setuid bits and hard links to other accounts' files. Packages stay readable for every
 * account that reaches them, because runs hard-link them. Idempotent; a sealed tree is skipped.
 */
export async function sealTree(tree: string, account: Account | null): Promise<void> {
  fs.chmodSync(path.dirname(tree), 0o700)
  const { uid } = fs.lstatSync(tree)
  if (account && uid === 0) return
  const special = ['!', '-type', 'd', '!', '-type', 'f', '!', '-type', 'l']
  // an interrupted first try may have changed some owners to root
  const foreign = [uid, ...(account ? [0, account.uid] : [])].flatMap((known) => ['!', '-uid', String(known)])
  await exec('find', [tree, '(', ...special, '-o', ...foreign, ')', '-delete'])
  await exec('chmod', ['-R', 'u+rwX,ug-s', '--', tree])
  if (!account) return
  await exec('find', [tree, '-type', 'd', '-name', 'node_modules', '-prune', '-exec', 'chmod', '-R', 'a+rX', '{}', '+'])
  // chown changes the tree's root folder last, so its owner marks a completed seal
  await chownTree(tree, { uid: 0, gid: 0 })
}

/**
 * Replaces hard links by copies. Package managers hard-link files from their store; the store must neither become root's nor
 * change the artifact.
 */
export async function breakHardLinks(tree: string, account: Account | null): Promise<void> {
  const { stdout } = await exec('find', [tree, '-type', 'f', '-links', '+1', '-print', '-quit'])
  if (!stdout) return
  const copy = `${tree}-copy`
  fs.mkdirSync(copy, { mode: 0o700 })
  if (account) fs.chownSync(copy, account.uid, account.gid)
  // runs as the account, so a link can't make it read files of other accounts
  await exec('cp', ['-RPp', '--', `${tree}/.`, copy], { ...account, cwd: '/' })
  await removeTrees(tree)
  await fs.promises.rename(copy, tree)
}
