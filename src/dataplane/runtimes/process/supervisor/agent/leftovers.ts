/** Processes that are left where none should be: of a keeper that was killed, and of agents that hide what they start. */
import fs from 'node:fs'
import { sleep } from '../../../../../platform/async/retry.ts'
import type { Account } from '../../../../../platform/postgres/embedded/account.ts'
import { isReserved } from '../../accounts/reservations.ts'
import { processesByUser } from '../../processes/proc.ts'
import { SUPERVISOR_VARIABLE, signalProcesses, TAG_VARIABLE, taggedProcesses } from '../../processes/process-tags.mjs'

/** how long what was killed may take to go */
const GOES_MS = 5000

/** Kills all that has the tag of this supervisor; resolves when nobody of it is left, or can't be ended. */
export async function endLeftovers(tag: string): Promise<void> {
  await killAll(() => taggedProcesses(new Set([tag]), SUPERVISOR_VARIABLE).filter((pid) => pid !== process.pid))
}

/** Whether all that runs under it is one deployment's. */
export function hasOwnAccount(account: Account | null): account is Account {
  return account !== null && process.platform === 'linux' && process.getuid?.() === 0 && isReserved(account.uid)
}

/** The agents of one supervisor, all of one account: when none runs, nothing else of it may. */
export class Crowd {
  #living = 0
  #cleared: Promise<void> = Promise.resolve()

  /** Before anything of an agent is started. */
  async enter(account: Account | null): Promise<void> {
    if (this.#living++ === 0) this.#cleared = this.#cleared.then(() => endRest(account))
    await this.#cleared
  }

  /** Nothing of it is left that is known. */
  async leave(account: Account | null): Promise<void> {
    if (--this.#living === 0) this.#cleared = this.#cleared.then(() => endRest(account))
    await this.#cleared
  }
}

/** Kills all that runs under a deployment's own account, but a build, which says that it is one. */
async function endRest(account: Account | null): Promise<void> {
  if (!hasOwnAccount(account)) return
  await killAll(() => (processesByUser().get(account.uid) ?? []).filter((pid) => !isBuild(pid)))
}

/** What pretends to be one ends with its deployment. */
function isBuild(pid: number): boolean {
  try {
    const environment = `\0${fs.readFileSync(`/proc/${pid}/environ`, 'latin1')}`
    return environment.includes(`\0${TAG_VARIABLE}=`) && !environment.includes(`\0${SUPERVISOR_VARIABLE}=`)
  } catch {
    return false // it is gone
  }
}

async function killAll(find: () => number[]): Promise<void> {
  const until = performance.now() + GOES_MS
  for (let wait = 10; performance.now() < until; wait = Math.min(200, wait * 1.5)) {
    const left = find()
    if (left.length === 0) return
    signalProcesses(left, 'SIGKILL')
    await sleep(wait)
  }
}
