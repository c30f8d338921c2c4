/**
 * One start of an agent: resolved when its health path answers 200.
 */
import { randomUUID } from 'node:crypto'
import type { Progress } from '../../../../../domain/protocol/protocol.ts'
import { DEFAULT_HEALTH_PATH } from '../../../../../domain/values/health-path.ts'
import { sleep } from '../../../../../platform/async/retry.ts'
import { AbortScope } from '../../../../../platform/async/time-limit.ts'
import type { Mask } from '../../../../output/mask.ts'
import { StepFailure } from '../../../../output/step-failure.ts'
import { isFree } from '../../machine/ports.ts'
import { isPortClosed } from '../../processes/confinement.ts'
import { listeningPorts } from '../../processes/listening-ports.ts'
import { describeExit, ranOutOfMemory } from '../../processes/process-group.ts'
import type { Exceeded } from '../limits/limits.ts'
import type { Upstream } from '../network/messages.ts'
import type { Output } from '../output/output.ts'
import type { AgentPlan } from '../protocol.ts'
import type { RunningAgents } from './leftovers.ts'
import { type AgentProcess, type Ended, startProcess } from './process.ts'
import { notReadyInTime, notReadyYet, type Observation } from './readiness.ts'

/** ms between two looks at the ports of an agent that does not answer */
const PORT_CHECK_INTERVAL_MS = 2000

/** What all agents of one supervisor share. */
export interface AgentContext {
  deploymentId: string
  /** absolute, of the supervisor */
  folder: string
  runningAgents: RunningAgents
  /** of all processes that this supervisor starts */
  tag: string
  output: Output
  /** gives a free port of the loopback */
  freePort(): Promise<number>
  /** The status of a GET of `path` on that port of the loopback; null: no answer. */
  requestHealth(port: number, path: string): Promise<{ host: string; status: number | null }>
}

export interface Hooks {
  onStarted(pid: number): void
  /** Gets what is waited for: what the agent answers, where it listens, what it printed last. */
  onProgress(progress: Progress): void
  onExceeded(exceeded: Exceeded, fatal: boolean): void
}

export interface Agent {
  upstream: Upstream
  ended: Promise<Ended>
  end(graceMs?: number): Promise<Ended>
}

/** The agent has ended, and somebody else listens on its port: between its choice and its use it can be taken. */
export class PortTaken extends StepFailure {}

/**
 * Starts an agent and resolves when it is ready. Throws StepFailure with its last lines when it exits before
 * that (PortTaken among them) or the signal aborts for being too late (a TimeoutError); then no process is left.
 */
export async function startAgent(
  context: AgentContext,
  plan: AgentPlan,
  mask: Mask,
  signal: AbortSignal,
  hooks: Hooks,
): Promise<Agent> {
  signal.throwIfAborted()
  const port = await portFor(context, plan)
  const started = await startProcess({ ...context, plan, mask, port, onExceeded: hooks.onExceeded }, signal)
  hooks.onStarted(started.pid)
  const observed: Observation = {
    port,
    path: plan.healthPath ?? DEFAULT_HEALTH_PATH,
    lastStatus: null,
    listening: null,
  }
  const stop = new AbortScope(signal)
  let exit: Ended | null = null
  void started.ended.then((ended) => {
    exit = ended
    stop.abort(null)
  })
  const checkPorts = () => {
    // what is in a container is another network's
    if (plan.program.kind === 'built' && observed.lastStatus === null) observed.listening = listeningPorts(started.pid)
  }
  const host = await untilReady(context, started, observed, checkPorts, stop.signal, hooks)
  stop.end()
  if (host) {
    started.markReady()
    return { upstream: { id: randomUUID(), host, port }, ended: started.ended, end: started.end }
  }
  if (exit) throw await exitedBeforeReady(exit, started, observed)
  checkPorts()
  await started.end()
  if ((signal.reason as Error).name !== 'TimeoutError') throw signal.reason
  throw new StepFailure('HEALTH_CHECK_TIMED_OUT', started.tail.appendTo(notReadyInTime(observed)))
}

/** One that it may bind. */
async function portFor({ freePort }: AgentContext, { program }: AgentPlan): Promise<number> {
  const confinement = program.kind === 'built' ? program.confinement : undefined
  for (;;) {
    const port = await freePort()
    if (!confinement || !isPortClosed(port, confinement)) return port
  }
}

/** The host that answered the health path with 200; null: the signal aborted before. */
async function untilReady(
  { requestHealth }: AgentContext,
  { tail }: AgentProcess,
  observed: Observation,
  checkPorts: () => void,
  signal: AbortSignal,
  { onProgress }: Hooks,
): Promise<string | null> {
  let checkAt = performance.now() + PORT_CHECK_INTERVAL_MS
  onProgress({
    reason: 'WAITING_FOR_HEALTH',
    message: `The agent was started; GET ${observed.path} has to answer 200.`,
  })
  for (let wait = 50; !signal.aborted; wait = Math.min(500, wait * 1.5)) {
    const { host, status } = await requestHealth(observed.port, observed.path)
    if (status === 200) return signal.aborted ? null : host
    observed.lastStatus = status ?? observed.lastStatus
    if (performance.now() > checkAt && !signal.aborted) {
      checkPorts()
      onProgress({ reason: 'WAITING_FOR_HEALTH', message: tail.appendTo(notReadyYet(observed)) })
      checkAt = performance.now() + PORT_CHECK_INTERVAL_MS
    }
    await sleep(wait, signal)
  }
  return null
}

async function exitedBeforeReady(
  ended: Ended,
  { tail }: AgentProcess,
  { port, path }: Observation,
): Promise<StepFailure> {
  const Failure = (await isFree(port, '127.0.0.1')) ? StepFailure : PortTaken
  const { exit, exceeded, explained } = ended
  if (exceeded) return new Failure(exceeded.reason, tail.appendTo(exceeded.message))
  const message = `The agent ${describeExit(exit)} before GET ${path} answered 200.`
  return new Failure(ranOutOfMemory(exit) ? 'OUT_OF_MEMORY' : 'CRASHED', explained(message))
}

/** A bound that was reached says so by itself, else how it exited. */
export function whyEnded({ exit, exceeded, explained }: Ended): Progress {
  if (exceeded) return exceeded
  const message = explained(`The agent ${describeExit(exit)}`).split('\n', 1)[0]!
  return { reason: ranOutOfMemory(exit) ? 'OUT_OF_MEMORY' : 'CRASHED', message }
}
