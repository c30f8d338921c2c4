/**
 * How a build runs a command: given by the runtime, which decides under which account and who ends it.
 */
import type { OnLine } from '../output/lines.ts'

interface BuildCommand {
  command: string
  args: string[]
  cwd: string
  env: Record<string, string>
  /** git only: under the server's account, since it must read what no build may */
  asServer?: boolean
}

export interface CommandExit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** Runs to the end, whatever that is. Rejects only when the build is cancelled, after everything has ended. */
export type RunCommand = (command: BuildCommand, onLine: OnLine) => Promise<CommandExit>
