/** The processes of one start of an agent: its launch, limits and output, until all have ended. */
import { randomUUID } from 'node:crypto'
import { OutputTail } from '../../../output/lines.ts'
import type { Mask } from '../../../output/mask.ts'
import { groupRecordOf } from '../../isolation/group-record.ts'
import { CAUSE_PATTERN, createLimits, type Exceeded, type Limits } from '../../isolation/limits.ts'
import { NO_LIMITS } from '../../isolation/resource-limits.ts'
import { type Exit, type ProcessGroup, startGroup } from '../../processes/process-group.ts'
import type { Output } from '../output/output.ts'
import type { AgentPlan } from '../protocol.ts'
import { type Launch, prepareLaunch } from './launch.ts'
import { hasOwnAccount, type RunningAgents } from './leftovers.ts'

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

export interface ProcessOptions {
  deploymentId: string
  /** absolute path of the supervisor's folder */
  folder: string
  runningAgents: RunningAgents
  /** marks all processes of this supervisor */
  tag: string
  plan: AgentPlan
  mask: Mask
  output: Output
  port: number
  onExceeded(exceeded: Exceeded, fatal: boolean): void
}

/** Throws when the start fails. Then nothing of it is left. */
export async function startProcess(options: ProcessOptions, signal: AbortSignal): Promise<AgentProcess> {
  const { plan, mask, output, runningAgents } = options
  const { revisionId, attempt, account } = plan
  await runningAgents.enter(account)
  let launch: Launch | null = null
  let limits: Limits | null = null
  let group: ProcessGroup | null = null
  const tail = new OutputTail(10, CAUSE_PATTERN)
  try {
    launch = await prepareLaunch(plan, options.port, options.tag, signal)
    limits = await limitsOf(options, launch, () => void group?.end(GRACE_MS))
    const { prelude, enter } = limits
    group = await startGroup(
      { add: ({ group: pid }) => enter(pid), remove: () => undefined },
      { ...launch.command, prelude },
      (stream) => output.read(stream, { revisionId, attempt, mask }, (shown) => tail.add(shown)),
    )
  } catch (error) {
    await limits?.close()
    await launch?.onEnd()
    await runningAgents.leave(account)
    throw error
  }
  const { pid, end } = group
  const { explain, kill, close } = limits
  const { onReady, onEnd } = launch
  const ended = group.ended.then(async (exit) => {
    const exceeded = explain({ ...exit, output: tail.appendTo('') })
    await kill()
    await runningAgents.leave(account)
    await close()
    await onEnd()
    const explained = (headline: string) => (exit.code ? tail.appendToWithCause(headline) : tail.appendTo(headline))
    return { exit, exceeded, explained }
  })
  return {
    pid,
    tail,
    ended,
    markReady: onReady,
    async end(graceMs = GRACE_MS) {
      await end(graceMs)
      return ended
    },
  }
}

/** The container engine enforces the limits of an image. */
function limitsOf({ plan, deploymentId, folder, onExceeded }: ProcessOptions, { folders }: Launch, end: () => void) {
  const { account, program, bounds } = plan
  return createLimits({
    deploymentId,
    start: randomUUID().slice(0, 8),
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
