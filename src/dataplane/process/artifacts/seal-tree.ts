/** Turns the output of a build into an artifact that no account of a deployment can change, without hostile files. */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Account } from '../../../platform/postgres/embedded/account.ts'
import { chownTree, removeTrees } from '../isolation/untrusted-trees.ts'

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
