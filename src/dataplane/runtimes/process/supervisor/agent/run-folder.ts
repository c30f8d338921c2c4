/**
 * The folder that one start of an agent runs in.
 */
import path from 'node:path'
import type { Account } from '../../../../../platform/postgres/embedded/account.ts'
import type { BuiltProgram } from '../protocol.ts'

export interface RunFolder {
  /** absolute: where the script starts */
  cwd: string
  /** what the agent's code is below of */
  root: string
  /** Removes it; never throws. */
  remove(): Promise<void>
}

export async function makeRunFolder(
  program: BuiltProgram,
  _account: Account | null,
  _signal: AbortSignal,
): Promise<RunFolder> {
  return { cwd: path.join(program.tree, program.folder), root: program.tree, remove: async () => undefined }
}
