/**
 * How a build runs a command: given by the runtime, which decides under which account and who ends it.
 */
import type { OnLine } from '../output/lines.ts'

interface BuildCommand {
  command: string
  args: string[]
  cwd: string
  env: Record<string, string>
  /** git only: the account it runs under; null: the server's. Everything else runs under the account of the build. */
  gitAccount?: GitAccount | null
}

/** One that runs no code of a repository, so that no build and no agent can read what git has. */
export interface GitAccount {
  uid: number
  gid: number
}

export interface CommandExit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** Runs to the end, whatever that is. Rejects only when the build is cancelled, after everything has ended. */
export type RunCommand = (command: BuildCommand, onLine: OnLine) => Promise<CommandExit>
