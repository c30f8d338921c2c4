/** The processes of one start of an agent: its launch, limits and output, until all have ended. */
import type { Account } from '../../../../platform/postgres/embedded/account.ts'
import { OutputTail } from '../../../output/lines.ts'
import type { Mask } from '../../../output/mask.ts'
import { groupRecordOf } from '../../isolation/group-record.ts'
import { CAUSE_PATTERN, createLimits, type Exceeded, type Limits } from '../../isolation/limits.ts'
import { isReserved } from '../../isolation/reservations.ts'
import { NO_LIMITS } from '../../isolation/resource-limits.ts'
import { killAll } from '../../processes/end-group.ts'
import { processesByUser, readProc } from '../../processes/proc.ts'
import { type Exit, type ProcessGroup, startGroup } from '../../processes/process-group.ts'
import { SUPERVISOR_VARIABLE, TAG_VARIABLE } from '../../processes/process-tags.mjs'
import type { Output } from '../output.ts'
import type { AgentPlan } from '../protocol.ts'
import { type Launch, prepareLaunch } from './launch.ts'

/** between SIGTERM and SIGKILL */
const GRACE_MS = 5000

/** How the agent ended, and the limit that ended it. */
export interface Ended {
  exit: Exit
  exceeded: Exceeded | null
  /** Adds the last output lines to `headline`, and before it the printed error if the agent exited by itself. */
  explained(headline: string): string
}

export interface AgentProcess {
  pid: number
  tail: OutputTail
  /** resolves when all its processes have ended */
  ended: Promise<Ended>
  end(graceMs?: number): Promise<Ended>
  /** Removes files that only the start needed. */
  markReady(): void
}

/** Shared by all agents of one supervisor. */
export interface AgentContext {
  deploymentId: string
  /** absolute path of the supervisor's folder */
  folder: string
  runningAgents: RunningAgents
  /** marks all processes of this supervisor */
  tag: string
  output: Output
  /** returns a free loopback port */
  freePort(): Promise<number>
  /** Status of GET `path` on this loopback port; null: no answer. */
  requestHealth(port: number, path: string): Promise<{ host: string; status: number | null }>
}

export interface ProcessOptions {
  plan: AgentPlan
  mask: Mask
  port: number
  onExceeded(exceeded: Exceeded, fatal: boolean): void
}

/** Throws when the start fails. Then nothing of it is left. */
export async function startProcess(
  context: AgentContext,
  options: ProcessOptions,
  signal: AbortSignal,
): Promise<AgentProcess> {
  const { output, runningAgents, tag } = context
  const { plan, mask, port } = options
  const { revisionId, attempt, account } = plan
  await runningAgents.enter(account)
  let launch: Launch | null = null
  let limits: Limits | null = null
  let group: ProcessGroup | null = null
  const tail = new OutputTail(10, CAUSE_PATTERN)
  const close = async () => {
    await limits?.kill()
    await runningAgents.leave(account)
    await limits?.close()
    await launch?.onEnd()
  }
  try {
    launch = await prepareLaunch(plan, port, tag, signal)
    limits = await limitsOf(context, options, launch, () => void group?.end(GRACE_MS))
    const { prelude, enter } = limits
    group = await startGroup(
      { add: ({ group: pid }) => enter(pid), remove: () => undefined },
      { ...launch.command, prelude },
      (stream) => output.read(stream, { revisionId, attempt, mask }, (shown) => tail.add(shown)),
    )
  } catch (error) {
    await close()
    throw error
  }
  const { pid, end } = group
  const { explain } = limits
  const ended = group.ended.then(async (exit) => {
    const exceeded = explain({ ...exit, output: tail.appendTo('') })
    await close()
    const explained = (headline: string) => (exit.code ? tail.appendToWithCause(headline) : tail.appendTo(headline))
    return { exit, exceeded, explained }
  })
  return {
    pid,
    tail,
    ended,
    markReady: launch.onReady,
    async end(graceMs = GRACE_MS) {
      await end(graceMs)
      return ended
    },
  }
}

/** The container engine enforces the limits of an image. */
function limitsOf(
  { deploymentId, folder }: AgentContext,
  { plan: { account, program, bounds }, onExceeded }: ProcessOptions,
  { folders }: Launch,
  end: () => void,
): Promise<Limits> {
  return createLimits({
    deploymentId,
    bounds: program.kind === 'built' ? bounds : NO_LIMITS,
    ownUid: hasOwnAccount(account) ? account.uid : null,
    controlGroups: program.kind === 'built',
    folders,
    record: groupRecordOf(folder),
    onExceeded(exceeded, fatal) {
      onExceeded(exceeded, fatal)
      if (fatal) end()
    },
  })
}

/** Whether the account belongs to one deployment only. */
function hasOwnAccount(account: Account | null): account is Account {
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
  await killAll(() => (processesByUser().get(account.uid) ?? []).filter((pid) => !isBuild(pid)))
}

/** A process that only pretends to be a build ends when its deployment is deleted. */
function isBuild(pid: number): boolean {
  const environment = `\0${readProc(`${pid}/environ`)}`
  return environment.includes(`\0${TAG_VARIABLE}=`) && !environment.includes(`\0${SUPERVISOR_VARIABLE}=`)
}
