/**
 * The folder for one start of an agent: a copy of the artifact that only its account can enter. Copying delays a
 * rollback, so each start takes a spare copy and then makes the next one at lowest priority.
 */
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import { isNoSpaceError, noSpaceFailure, StepFailure } from '../../../output/step-failure.ts'
import { makeSpareCopy, sealTree, takeCopy } from '../../artifacts/tree-copy.ts'
import { NO_CONFINEMENT } from '../../isolation/confinement.ts'
import { type TemporaryFolder, temporaryFolder } from '../../isolation/layout.ts'
import { removeTrees } from '../../isolation/untrusted-trees.ts'
import type { BuiltProgram } from '../protocol.ts'

export interface RunFolder {
  /** absolute path: where the script starts */
  cwd: string
  /** root of the agent's code */
  root: string
  /** for temporary files of this start */
  temporary: TemporaryFolder
  /** Removes all folders of this start. Never throws. */
  remove(): Promise<void>
}

/** Prefix of temporary folders of starts. Folders of builds are in the same place. */
const TEMPORARY_PREFIX = 'run-'

/** Folders of this process's running starts. Other folders are from a killed process. */
const inUse = new Set<string>()

/** Throws StepFailure when the artifact is gone or the disk is full. */
export async function makeRunFolder(
  program: BuiltProgram,
  account: Account | null,
  signal: AbortSignal,
): Promise<RunFolder> {
  const { tree, folder, runs, confinement = NO_CONFINEMENT } = program
  const root = path.join(runs, randomUUID().slice(0, 8))
  const folders = [root]
  inUse.add(root)
  const spare = new AbortController()
  let making = Promise.resolve()
  const remove = async () => {
    spare.abort()
    await making
    // the next start removes what can't be removed now
    await removeTrees(...folders).catch(() => undefined)
    for (const one of folders) inUse.delete(one)
  }
  try {
    for (const parent of [runs, program.temporary]) fs.mkdirSync(parent, { recursive: true, mode: 0o700 })
    const temporary = temporaryFolder(program, account, confinement, TEMPORARY_PREFIX)
    folders.push(temporary.folder)
    inUse.add(temporary.folder)
    void removeAbandoned(runs, program.temporary)
    await sealTree(tree, account)
    await takeCopy(tree, root, { account, signal })
    making = makeSpareCopy(tree, { account, signal: spare.signal, idle: true }).catch(() => undefined)
    return { cwd: path.join(root, folder), root, temporary, remove }
  } catch (error) {
    await remove()
    throw toFailure(error, tree)
  }
}

async function removeAbandoned(runs: string, temporary: string): Promise<void> {
  const below = (folder: string) => fs.readdirSync(folder).map((name) => path.join(folder, name))
  const found = [
    ...below(runs),
    ...below(temporary).filter((folder) => path.basename(folder).startsWith(TEMPORARY_PREFIX)),
  ]
  await removeTrees(...found.filter((folder) => !inUse.has(folder))).catch(() => undefined)
}

function toFailure(error: unknown, tree: string): unknown {
  if (isNoSpaceError(error)) return noSpaceFailure()
  if (fs.existsSync(tree)) return error
  return new StepFailure(
    'ARTIFACT_LOST',
    'The build of this revision is no longer on this machine. Redeploy to build it again.',
    { artifactLost: true },
  )
}
