/** One start of an agent, until its health path answers 200. */
import { randomUUID } from 'node:crypto'
import type { Progress } from '../../../../domain/protocol/protocol.ts'
import { DEFAULT_HEALTH_PATH } from '../../../../domain/values/health-path.ts'
import { sleep } from '../../../../platform/async/retry.ts'
import { AbortScope } from '../../../../platform/async/time-limit.ts'
import type { Mask } from '../../../output/mask.ts'
import { StepFailure } from '../../../output/step-failure.ts'
import type { Upstream } from '../../door/messages.ts'
import { isPortClosed, NO_CONFINEMENT } from '../../isolation/confinement.ts'
import type { Exceeded } from '../../isolation/limits.ts'
import { isFree } from '../../machine/ports.ts'
import { listeningPorts } from '../../processes/proc.ts'
import { describeExit, ranOutOfMemory } from '../../processes/process-group.ts'
import type { AgentPlan } from '../protocol.ts'
import { type AgentContext, type AgentProcess, type Ended, startProcess } from './process.ts'

const PORT_CHECK_INTERVAL_MS = 2000

export interface Hooks {
  onStarted(pid: number): void
  /** Gets the agent's last answer, its ports and its last output while it is not ready. */
  onProgress(progress: Progress): void
  onExceeded(exceeded: Exceeded, fatal: boolean): void
}

export interface Agent {
  upstream: Upstream
  ended: Promise<Ended>
  end(graceMs?: number): Promise<Ended>
}

/** The agent has ended, and another program has taken its port before the agent could listen on it. */
export class PortTaken extends StepFailure {}

/**
 * Resolves when the agent is ready. Throws StepFailure with its last lines when it exits early (PortTaken if its port
 * was taken) or when the signal aborts with a TimeoutError. Then no process is left.
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
  const started = await startProcess(context, { plan, mask, port, onExceeded: hooks.onExceeded }, signal)
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
    // a container has its own processes
    if (plan.program.kind === 'built' && observed.lastStatus === null) observed.listening = listeningPorts(started.pid)
  }
  const host = await untilReady(context, started, observed, checkPorts, stop.signal, hooks)
  stop.end()
  if (host) {
    started.markReady()
    const upstream = { id: randomUUID(), host, port, revision: plan.revisionId }
    return { upstream, ended: started.ended, end: started.end }
  }
  if (exit) throw await exitedBeforeReady(exit, started, observed)
  checkPorts()
  await started.end()
  if ((signal.reason as Error).name !== 'TimeoutError') throw signal.reason
  throw new StepFailure('HEALTH_CHECK_TIMED_OUT', started.tail.appendTo(notReadyInTime(observed)))
}

/** Finds a free port that the confinement allows. */
async function portFor({ freePort }: AgentContext, { program }: AgentPlan): Promise<number> {
  const { confinement = NO_CONFINEMENT } = program.kind === 'built' ? program : {}
  let port = await freePort()
  while (isPortClosed(port, confinement)) port = await freePort()
  return port
}

/** The host that answered 200; null: the signal was aborted first. */
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

/** A reached limit explains the end, else the exit code does. */
export function whyEnded({ exit, exceeded, explained }: Ended): Progress {
  if (exceeded) return exceeded
  const message = explained(`The agent ${describeExit(exit)}`).split('\n', 1)[0]!
  return { reason: ranOutOfMemory(exit) ? 'OUT_OF_MEMORY' : 'CRASHED', message }
}

interface Observation {
  /** value of PORT; the agent must listen on it */
  port: number
  /** path of the health check */
  path: string
  /** status of the last answer; null: no answer yet */
  lastStatus: number | null
  /** ports that its processes listen on; null: unknown */
  listening: readonly number[] | null
}

function notReadyYet(observed: Observation): string {
  return observed.lastStatus === null
    ? `GET ${observed.path} is not answered yet: the agent has to listen on the port in PORT (${observed.port})${portHint(observed)}.`
    : `GET ${observed.path} is answered with ${observed.lastStatus}: the agent is ready when that is 200.`
}

function notReadyInTime(observed: Observation): string {
  return observed.lastStatus === null
    ? `GET ${observed.path} was not answered in time: the agent has to listen on the port in PORT${portHint(observed)}.`
    : `GET ${observed.path} was still answered with ${observed.lastStatus} when the time was up: 200 says that the agent is ready.`
}

function portHint({ port, listening }: Observation): string {
  if (listening === null) return ''
  if (listening.includes(port)) return '; it listens there and does not answer'
  return listening.length === 0 ? '; it listens on none' : `; it listens on ${listening.join(', ')} instead`
}
