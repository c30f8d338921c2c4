/** Ends leftover processes: those of a killed keeper, and those that an agent has hidden from its supervisor. */
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import { isReserved } from '../../isolation/reservations.ts'
import { killAll } from '../../processes/end-group.ts'
import { processesByUser, readProc } from '../../processes/proc.ts'
import { SUPERVISOR_VARIABLE, TAG_VARIABLE, taggedProcesses } from '../../processes/process-tags.mjs'

/** time for killed processes to disappear */
const KILL_TIMEOUT_MS = 5000

/** Kills all processes with this supervisor's tag. Resolves when they have ended or the time is over. */
export async function endLeftovers(tag: string): Promise<void> {
  const find = () => taggedProcesses(new Set([tag]), SUPERVISOR_VARIABLE).filter((pid) => pid !== process.pid)
  await killAll(find, KILL_TIMEOUT_MS)
}

/** Whether the account belongs to one deployment only. */
export function hasOwnAccount(account: Account | null): account is Account {
  return account !== null && process.platform === 'linux' && process.getuid?.() === 0 && isReserved(account.uid)
}

/** Counts the running agents of one supervisor. While none runs, all processes of their account are leftovers. */
export class RunningAgents {
  #running = 0
  #cleared: Promise<void> = Promise.resolve()

  /** Call before the first process of an agent starts. */
  async enter(account: Account | null): Promise<void> {
    if (this.#running++ === 0) this.#cleared = this.#cleared.then(() => endRest(account))
    await this.#cleared
  }

  /** Call when all known processes of an agent have ended. */
  async leave(account: Account | null): Promise<void> {
    if (--this.#running === 0) this.#cleared = this.#cleared.then(() => endRest(account))
    await this.#cleared
  }
}

/** Kills all processes of a deployment's own account, except builds. */
async function endRest(account: Account | null): Promise<void> {
  if (!hasOwnAccount(account)) return
  await killAll(() => (processesByUser().get(account.uid) ?? []).filter((pid) => !isBuild(pid)), KILL_TIMEOUT_MS)
}

/** A process that only pretends to be a build ends when its deployment is deleted. */
function isBuild(pid: number): boolean {
  const environment = `\0${readProc(`${pid}/environ`)}`
  return environment.includes(`\0${TAG_VARIABLE}=`) && !environment.includes(`\0${SUPERVISOR_VARIABLE}=`)
}
