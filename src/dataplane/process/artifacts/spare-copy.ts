/**
 * Keeps one copy of an artifact ready for the next start. It is next to the artifact's tree, in a folder that only the server can
 * enter.
 */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { removeTrees } from '../isolation/untrusted-trees.ts'
import { type CopyOptions, copyTree } from './tree-copy.ts'

const MAX_DRAFT_AGE_MS = 3_600_000

/**
 * Puts a copy of a sealed tree at `to`, which must not exist: the spare copy if there is one, else a new copy. Rejects like
 * `copyTree`.
 */
export async function takeCopy(tree: string, to: string, options: CopyOptions): Promise<void> {
  if (await moveSpare(tree, to, options)) return
  const draft = newDraftPath(tree)
  await copyTree(tree, draft, options)
  await fs.promises.rename(draft, to)
}

export async function makeSpareCopy(tree: string, options: CopyOptions): Promise<void> {
  await removeOldDrafts(tree)
  const spare = sparePath(tree)
  if (isOwnedBy(spare, options)) return
  const draft = newDraftPath(tree)
  await copyTree(tree, draft, options)
  await fs.promises.rename(draft, spare).catch(() => removeTrees(draft))
}

async function moveSpare(tree: string, to: string, options: CopyOptions): Promise<boolean> {
  const spare = sparePath(tree)
  if (!isOwnedBy(spare, options)) {
    await removeTrees(spare)
    return false
  }
  try {
    await fs.promises.rename(spare, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

const sparePath = (tree: string): string => `${tree}-spare`

const newDraftPath = (tree: string): string => `${tree}-draft-${randomUUID()}`

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
