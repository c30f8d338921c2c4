/**
 * Makes what a build has left a kept artifact: ours, so that nobody who runs it can change it, and without what only
 * somebody hostile puts there.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import { chownTree, removeTrees } from './untrusted-trees.ts'

const exec = promisify(execFile)

/**
 * Seals a tree that was `account`'s (null: ours); the folder that it is in is its alone, and is closed. Its files become
 * ours. Devices, pipes, sockets, setuid bits and names of others' files go. Packages can be read by all who get to them,
 * for runs that have links to them instead of copies. Can be repeated; one that is sealed is not looked at again.
 */
export async function sealTree(tree: string, account: Account | null): Promise<void> {
  fs.chmodSync(path.dirname(tree), 0o700)
  const { uid } = fs.lstatSync(tree)
  if (account && uid === 0) return
  const special = ['!', '-type', 'd', '!', '-type', 'f', '!', '-type', 'l']
  // a first try may have made some of it root's
  const foreign = [uid, ...(account ? [0, account.uid] : [])].flatMap((known) => ['!', '-uid', String(known)])
  await exec('find', [tree, '(', ...special, '-o', ...foreign, ')', '-delete'])
  await exec('chmod', ['-R', 'u+rwX,ug-s', '--', tree])
  if (!account) return
  await exec('find', [tree, '-type', 'd', '-name', 'node_modules', '-prune', '-exec', 'chmod', '-R', 'a+rX', '{}', '+'])
  // the folder itself comes last, and says that it is done
  await chownTree(tree, { uid: 0, gid: 0 })
}

/** Package managers link the files of packages to a store of theirs, which must not become ours, nor change what is kept. */
export async function breakHardLinks(tree: string, account: Account | null): Promise<void> {
  const { stdout } = await exec('find', [tree, '-type', 'f', '-links', '+1', '-print', '-quit'])
  if (!stdout) return
  const copy = `${tree}-copy`
  fs.mkdirSync(copy, { mode: 0o700 })
  if (account) fs.chownSync(copy, account.uid, account.gid)
  // by the account itself: it gets at nothing else, whatever it has put there
  await exec('cp', ['-RPp', '--', `${tree}/.`, copy], { ...account, cwd: '/' })
  await removeTrees(tree)
  await fs.promises.rename(copy, tree)
}
