/**
 * Holds one start of an agent to its bounds.
 */
import type { Reason } from '../../../../../domain/protocol/protocol.ts'
import type { Account } from '../../../../../platform/postgres/embedded/account.ts'
import type { Bounds } from '../protocol.ts'

export interface Exceeded {
  reason: Reason
  /** for people: which bound, how large, and what to do */
  message: string
}

export interface LimitsOptions {
  deploymentId: string
  /** tells one start from another */
  start: string
  bounds: Bounds
  account: Account | null
  /** folders that the agent may fill */
  folders: string[]
  /** Called when a bound was reached, whether or not the agent goes on; `fatal`: it has to be ended. */
  onExceeded(exceeded: Exceeded, fatal: boolean): void
}

export interface Limits {
  /** for /bin/sh, before the command: what a process sets for itself, like `ulimit -f 1024; `. Empty: nothing */
  prelude: string
  /** Called with the leader of the group before it runs anything. */
  enter(pid: number): Promise<void>
  /** Why it ended, if that was a bound; asked once, after its end. */
  explain(): Exceeded | null
  /** Nothing of it is left: removes what was made for it. Never throws. */
  close(): Promise<void>
}

export async function createLimits(_options: LimitsOptions): Promise<Limits> {
  return { prelude: '', enter: async () => undefined, explain: () => null, close: async () => undefined }
}
