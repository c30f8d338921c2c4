/**
 * The keeper of a supervisor: owns the lock, the control socket, the agents and their output.
 * Ends on request, when its folder or lock is lost, or after too long without a server.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { resultWithin } from '../../../../platform/async/time-limit.ts'
import { StepFailure } from '../../../output/step-failure.ts'
import { DoorLink } from '../../door/door-link.ts'
import type { Place } from '../../door/messages.ts'
import { groupRecordOf } from '../../isolation/group-record.ts'
import { ephemeralPorts } from '../../machine/ports.ts'
import { killAll } from '../../processes/end-group.ts'
import { SUPERVISOR_VARIABLE, taggedProcesses } from '../../processes/process-tags.mjs'
import { shutDownPostgresIfUnused, takeLock } from '../../processes/supervisor-locks.ts'
import { RunningAgents } from '../agent/process.ts'
import { createOutput } from '../output.ts'
import type { Request, SupervisorConfig, SupervisorEvent } from '../protocol.ts'
import { type Control, type Outcome, openControl } from './control.ts'
import { CandidateGone, Deployment } from './deployment.ts'
import { Fence } from './fence.ts'

const LOCK_CHECK_INTERVAL_MS = 10_000
/** drain on SIGTERM or SIGINT */
const DRAIN_MS = 3000
const POSTGRES_SHUTDOWN_TIMEOUT_MS = 5000
/** the longest delay of setTimeout */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Resolves when it listens, or immediately if another keeper runs. It exits by itself. */
export async function runKeeper(config: SupervisorConfig): Promise<void> {
  const { folder, deploymentId } = config
  const lock = await takeLock(folder)
  if (!lock) return
  const problems = path.join(folder, 'keeper.log')
  const record = (error: unknown) => noteProblem(problems, error)
  process.on('unhandledRejection', record)
  process.on('uncaughtException', (error) => {
    record(error)
    process.exit(1) // the next keeper ends leftover processes
  })
  const tag = tagOf(folder)
  // ends the processes of a killed keeper
  const leftovers = () => taggedProcesses(new Set([tag]), SUPERVISOR_VARIABLE).filter((pid) => pid !== process.pid)
  await killAll(leftovers)
  await groupRecordOf(folder).clear()
  const fence = new Fence(folder)
  let control: Control | null = null
  const output = createOutput(config.outputFolder, config.output, () => control?.send({ say: 'output' }))
  let changed = false
  const onChange = () => {
    // concurrent changes send one state
    if (!changed)
      setImmediate(() => {
        changed = false
        control?.sendState()
      })
    changed = true
  }
  const door: DoorLink = new DoorLink({
    deployment: deploymentId,
    program: config.door,
    onListening: (port, problem) => deployment.listening(port, problem),
    onServed: () => noteServed(folder),
    onLost: () => record('the connection to the door broke'),
  })
  const freePort = ephemeralPorts(config.appPorts)
  const requestHealth = (port: number, path: string) => door.requestHealth(port, path)
  const deployment: Deployment = new Deployment({
    agentContext: {
      deploymentId,
      folder,
      runningAgents: new RunningAgents(),
      tag,
      output,
      freePort,
      requestHealth,
    },
    door,
    drainSeconds: config.drainSeconds,
    onChange,
  })

  let ending: Promise<void> | null = null
  /** Resolves when only this process is left; then it exits. Of several calls, the shortest `drainMs` counts. */
  function end(drainMs: number): Promise<void> {
    deployment.limitDrain(drainMs)
    ending ??= deployment.end().then(
      () => {
        output.close()
        // after the answer to `end`
        setImmediate(() => void exit())
      },
      (error) => {
        ending = null // the next request tries again
        throw error
      },
    )
    return ending
  }

  async function exit(): Promise<void> {
    // if another keeper has the lock, it has the socket, too
    if (lock?.held()) await resultWithin(1000, control?.close() ?? Promise.resolve())
    lock?.release()
    await resultWithin(
      POSTGRES_SHUTDOWN_TIMEOUT_MS,
      shutDownPostgresIfUnused(path.dirname(path.dirname(folder))).catch(record),
    )
    process.exit()
  }

  async function perform(request: Request, send: (event: SupervisorEvent) => void): Promise<Outcome> {
    try {
      if (ending && request.verb !== 'end') throw new CandidateGone()
      await dispatch(request, send)
      return { ok: true }
    } catch (error) {
      if (error instanceof CandidateGone) return { ok: false, refused: 'gone' }
      if (error instanceof StepFailure) {
        const { reason, message, artifactLost } = error
        return { ok: false, refused: 'failed', reason, message, artifactLost }
      }
      record(error)
      return {
        ok: false,
        refused: 'failed',
        reason: 'INTERNAL',
        message: 'An internal error occurred in the supervisor of this deployment. Its keeper.log has the details.',
      }
    }
  }

  function dispatch(request: Request, send: (event: SupervisorEvent) => void): Promise<void> {
    switch (request.verb) {
      case 'open':
        door.program = request.door ?? door.program
        return deployment.open(placeOf(request), request.bounds)
      case 'run':
        return deployment.run(request.plan)
      case 'prepare':
        return deployment.prepare(request.plan, request.ms, (progress) =>
          send({ say: 'progress', id: request.id, progress }),
        )
      case 'hold':
        return deployment.hold(request.key)
      case 'switch':
        return deployment.switch(request.key)
      case 'discard':
        return deployment.discard(request.key)
      case 'end':
        return end(request.drainMs)
      default:
        throw new StepFailure('INTERNAL', 'The supervisor is of an older version and does not know this request.')
    }
  }

  let orphaned: NodeJS.Timeout | undefined
  const onServer = (connected: boolean) => {
    clearTimeout(orphaned)
    if (!connected) orphaned = setTimeout(() => void end(0), Math.min(MAX_TIMER_MS, config.orphanHours * 3_600_000))
  }
  onServer(false)
  const { socket, secret, installation } = config
  const state = () => deployment.state
  const build = createHash('sha256').update(fs.readFileSync(process.argv[1]!)).digest('hex').slice(0, 16)
  control = await openControl({ socket, secret, installation, deploymentId, build, fence, state, perform, onServer })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void end(DRAIN_MS))
  process.on('SIGHUP', () => undefined)
  setInterval(() => {
    if (!lock.held()) void end(0)
  }, LOCK_CHECK_INTERVAL_MS)
}

function placeOf({ port, bindAddress: host, name, hosts, tls }: Extract<Request, { verb: 'open' }>): Place {
  return { port, host, ...(name && hosts && { name, hosts }), ...(tls && { tls }) }
}

/** The same for each keeper of the folder, and as long as a UUID. */
function tagOf(folder: string): string {
  return createHash('sha256').update(fs.realpathSync(folder)).digest('hex').slice(0, 36)
}

/** Start order after a reboot: most recently used first. */
function noteServed(folder: string): void {
  try {
    fs.writeFileSync(path.join(folder, 'served'), '')
  } catch {
    // the folder is gone, or the disk is full
  }
}

/** Records an internal error for developers. Never contains agent output. */
function noteProblem(file: string, error: unknown): void {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  try {
    const large = (fs.statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 100_000
    fs.writeFileSync(file, `${new Date().toISOString()} ${text}\n`, { mode: 0o600, flag: large ? 'w' : 'a' })
  } catch {
    // the folder is gone, or the disk is full
  }
}
