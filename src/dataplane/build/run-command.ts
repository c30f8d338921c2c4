/** How a build runs commands. The runtime implements it and decides about accounts and termination. */
import type { OnLine } from '../output/lines.ts'

interface BuildCommand {
  command: string
  args: string[]
  cwd: string
  env: Record<string, string>
  /** git only: its account; null: the server's. Other commands run under the build's account. */
  gitAccount?: GitAccount | null
}

/** An account that runs no code of repositories, so no build and no agent can read git's files. */
export interface GitAccount {
  uid: number
  gid: number
}

export interface CommandExit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** Runs a command to its end. Rejects only when the build is cancelled, after all processes have ended. */
export type RunCommand = (command: BuildCommand, onLine: OnLine) => Promise<CommandExit>
