/**
 * One running agent: started, waited for until `GET /ok` answers 200, ended.
 */
import http from 'node:http'
import { sleep } from '../../../../platform/async/retry.ts'
import { StepFailure } from '../../../output/failure.ts'
import { type OnLine, readLines, Tail } from '../../../output/lines.ts'
import type { Mask } from '../../../output/mask.ts'
import type { OnProgress, RevisionLog } from '../../runtime.ts'
import { isFree } from '../host/ports.ts'
import { type Command, describeExit, type Exit, ranOutOfMemory, startGroup } from '../os/group.ts'
import { listeningPorts } from '../os/listening.ts'
import type { Reaper } from '../os/reaper.ts'
import { notReadyInTime, notReadyYet, type Observed } from './readiness.ts'
import { Upstream } from './upstream.ts'

/** an agent that is asked to end has this long until it is killed */
const GRACE_MS = 5000
/** ms between two looks at the ports of an agent that does not answer */
const LOOK_MS = 2000

export interface AgentPlan {
  /** without PORT */
  command: Command
  log: RevisionLog
  mask: Mask
  /** gives a free port of the loopback */
  port: () => Promise<number>
  /** it serves: what only its start needed can go */
  onReady?: () => void
  /** no process of it is left: removes what else there is. Never throws. */
  onEnd?: () => Promise<void>
}

export interface Agent {
  upstream: Upstream
  ended: Promise<Exit>
  end(graceMs?: number): Promise<Exit>
}

/** The agent has ended, and somebody else listens on its port: between its choice and its use it can be taken. */
export class PortTaken extends StepFailure {}

/**
 * Starts an agent and resolves when it is ready. Throws StepFailure with its last lines when it exits before
 * that (PortTaken among them) or the signal aborts for being too late (a TimeoutError); then no process is left.
 * `onProgress` gets what is waited for: what the agent answers, where it listens, what it printed last.
 */
export async function startAgent(
  reaper: Reaper,
  plan: AgentPlan,
  signal: AbortSignal,
  onProgress: OnProgress = () => undefined,
): Promise<Agent> {
  const port = await beforeStart(plan, async () => {
    signal.throwIfAborted()
    return plan.port()
  })
  const tail = new Tail()
  const { command, mask } = plan
  const print: OnLine = (shown) => {
    tail.add(shown)
    plan.log.print('deploy', shown)
  }
  const started = startGroup(reaper, { ...command, env: { ...command.env, PORT: String(port) } }, (stream) =>
    readLines(stream, mask, print),
  )
  const group = await beforeStart(plan, () => started)
  const ended = group.ended.then(async (exit) => {
    await plan.onEnd?.()
    return exit
  })
  const end = async (graceMs: number) => {
    await group.end(graceMs)
    return ended
  }
  const gone = new AbortController()
  void ended.then((exit) => gone.abort(exit))
  const stop = AbortSignal.any([signal, gone.signal])
  const observed: Observed = { port, answered: null, listening: null }
  const look = () => {
    // what is in a container is another network's
    if (command.tagged && observed.answered === null) observed.listening = listeningPorts(group.pid)
  }
  let lookAt = performance.now() + LOOK_MS
  onProgress({ reason: 'WAITING_FOR_HEALTH', message: 'The agent was started; GET /ok has to answer 200.' })
  for (let wait = 50; !stop.aborted; wait = Math.min(500, wait * 1.5)) {
    for (const host of ['127.0.0.1', '::1']) {
      const status = await ask(host, port, stop)
      if (status === 200) {
        plan.onReady?.()
        return { upstream: new Upstream(host, port), ended, end: (ms = GRACE_MS) => end(ms) }
      }
      observed.answered = status ?? observed.answered
    }
    if (performance.now() > lookAt && !stop.aborted) {
      look()
      onProgress({ reason: 'WAITING_FOR_HEALTH', message: tail.under(notReadyYet(observed)) })
      lookAt = performance.now() + LOOK_MS
    }
    await sleep(wait, stop)
  }
  if (gone.signal.aborted) {
    const exit = gone.signal.reason as Exit
    const how = describeExit(exit)
    const Failure = (await isFree(port, '127.0.0.1')) ? StepFailure : PortTaken
    throw new Failure(
      ranOutOfMemory(exit) ? 'OUT_OF_MEMORY' : 'CRASHED',
      tail.under(`The agent ${how} before GET /ok answered 200.`),
    )
  }
  look()
  await end(GRACE_MS)
  if ((signal.reason as Error).name !== 'TimeoutError') throw signal.reason
  throw new StepFailure('HEALTH_CHECK_TIMED_OUT', tail.under(notReadyInTime(observed)))
}

/** What fails here leaves no process, whose end would call `onEnd`. */
async function beforeStart<T>(plan: AgentPlan, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await plan.onEnd?.()
    throw error
  }
}

/** The status of GET /ok, or null when nobody answers. */
function ask(host: string, port: number, signal: AbortSignal): Promise<number | null> {
  return new Promise((resolve) => {
    const request = http.get({ host, port, path: '/ok', agent: false, timeout: 5000, signal }, (response) => {
      response.resume()
      resolve(response.statusCode ?? null)
    })
    request.on('timeout', () => request.destroy())
    request.on('error', () => resolve(null))
  })
}
