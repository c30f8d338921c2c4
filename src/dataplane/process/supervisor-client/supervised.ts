/**
 * The server's view of one supervised deployment: its desired state, its supervisor, and the switch to a new agent.
 * Level-based: after a failure it connects, starts and sends the desired state again (README.md).
 */
import fs from 'node:fs'
import type { AgentRestart, Health, Progress } from '../../../domain/protocol/protocol.ts'
import { backoff } from '../../../platform/async/retry.ts'
import { Semaphore } from '../../../platform/async/semaphore.ts'
import { unlessAborted } from '../../../platform/async/time-limit.ts'
import { WorkQueue } from '../../../platform/async/work-queue.ts'
import { writeAtomically } from '../../../platform/files/atomic-file.ts'
import { StepFailure } from '../../output/step-failure.ts'
import type { LeasedClaim, OnProgress } from '../../runtimes/runtime.ts'
import type { Sleeper } from '../door/messages.ts'
import { addressOf, type Machine } from '../machine/machine.ts'
import type { QueuedStart } from '../machine/start-queue.ts'
import type { AgentPlan, SupervisedAgent } from '../supervisor/protocol.ts'
import { CandidateGone, type Connection, endSupervisor, StaleToken, SupervisorSilent } from './connection.ts'
import {
  containerOf,
  type DesiredState,
  foreignHealth,
  hashOf,
  isOtherAttempt,
  isRestartDue,
  isSettled,
  isStarting,
  notServing,
  type Prepared,
  problemOf,
  queuedProgress,
  usedIn,
  withDraining,
  withRestart,
} from './desired-state.ts'
import { OutputShipper } from './output-shipper.ts'
import { killSupervisor, lastServedAt, type SupervisorFiles, supervisorFiles } from './supervisor-files.ts'
import { isForeign, SupervisorLink, understands } from './supervisor-link.ts'

/** What `measure()` needs of a deployment. */
export interface HeldDeployment {
  deploymentId: string
  /** the serving agent, the candidate, and agents that drain */
  agents: readonly SupervisedAgent[]
  serving: { revisionId: string; ready: number; memoryLimit: number | null } | null
  /** the newest restarts */
  restarts: readonly AgentRestart[]
  /** waiting runs in its database; null or absent: not known */
  backlog?: number | null
}

/** includes the time that the supervisor waits for another program to free the port */
const OPEN_TIMEOUT_MS = 40_000
const DISCARD_TIMEOUT_MS = 15_000
/** as for a restart after a crash (supervisor/agent/managed-agent.ts) */
const RESTART_TIMEOUT_MS = 120_000
/** extra time for the supervisor to report that a start has timed out */
const REPORT_MARGIN_MS = 10_000
/** until the next look at an agent that starts, drains or is deployed, and so can't sleep yet */
const UNSETTLED_MS = 10_000
/** pause after a failure: the first and the longest */
const RETRY_MS = [100, 10_000] as const
/** drain time of a supervisor that is replaced */
const REPLACED_DRAIN_MS = 2000

/** The next request starts the agent. */
const ASLEEP: Health = { ready: 0, desired: 0, reason: null, message: null }

export class SupervisedDeployment {
  readonly #machine: Machine
  readonly #deploymentId: string
  readonly #files: SupervisorFiles
  readonly #link: SupervisorLink
  readonly #shipper: OutputShipper | null
  readonly #queue = new WorkQueue(() =>
    this.#reconcile().then(
      () => {
        this.#failures = 0
      },
      (error) => this.#retry(error),
    ),
  )
  /** in a row */
  #failures = 0
  readonly #onClosed: () => void
  #claim!: LeasedClaim
  /** undefined: not known yet */
  #desired: DesiredState | null | undefined
  /** hash of the plan sent last on this connection */
  #sentPlan: { connection: Connection; plan: string } | null = null
  #deploying = false
  /** key of the last restart that began */
  #restarting: string | null = null
  /** container of the newest plan; it may be about to run */
  #container: string | null = null
  /** why the desired state can't be sent */
  #problem: Progress | null = null
  readonly #sending = new Semaphore(1)
  /** place in the start queue of a deployment without a supervisor */
  #queuedStart: QueuedStart | null = null
  /** settles when an agent that falls asleep has ended */
  #fallingAsleep: Promise<unknown> = Promise.resolve()
  /** until the next look whether it may sleep */
  #idleTimer: NodeJS.Timeout | undefined
  /** performance.now() when the agent last used the CPU or had open runs. A new server does not know, and waits for a look. */
  #busyAt = performance.now()

  /** `onClosed`: called when another server holds the deployment, so this object is no longer used. */
  constructor(machine: Machine, claim: LeasedClaim, onClosed: () => void) {
    this.#machine = machine
    this.#deploymentId = claim.deployment.id
    this.#files = supervisorFiles(machine.options.dataDir, claim.deployment.id)
    const { output, supervisors } = machine.options
    const { linesPerSecond } = supervisors.output
    const limit = machine.outputLimit
    this.#shipper = output ? new OutputShipper({ ...output, linesPerSecond, limit }, this.#files.output) : null
    this.#setClaim(claim)
    this.#onClosed = onClosed
    this.#link = new SupervisorLink(machine, this.#deploymentId, {
      onOutput: () => this.#shipper?.wake(),
      onStale: () => void this.close(),
      onState: () => this.#watchStart(),
      onBroken: () => this.#queue.enqueue(),
    })
  }

  /** undefined: its address was not opened by this server */
  url: string | undefined
  /** undefined: nothing should run, or the state is not known yet. */
  get health(): Health | undefined {
    if (!this.#desired) return undefined
    if (this.isAsleep) return ASLEEP
    const { connection } = this.#link
    if (connection && isForeign(connection)) return foreignHealth(connection)
    const serves = connection?.state.serving?.revisionId === this.#desired.revisionId ? connection.state.health : null
    if (connection && serves)
      return withDraining(withRestart(serves, this.#desired, connection.state, this.#problem), connection.state)
    if (this.#queuedStart?.isWaiting()) return notServing(queuedProgress(this.#queuedStart))
    return this.#problem || this.#sentPlan ? notServing(this.#problem) : undefined
  }

  /** Call it after a time in which the agent used the CPU or had open runs. */
  wasBusy(): void {
    this.#busyAt = performance.now()
  }

  /** What metrics measure of it. */
  get measurable(): HeldDeployment {
    const { serving, candidate, retired = [], health } = this.#link.connection?.state ?? {}
    const agents = [serving, candidate, ...retired].flatMap((agent) => agent ?? [])
    const { revisionId, memoryMb } = this.#desired ?? {}
    const limit = serving?.revisionId === revisionId && memoryMb ? memoryMb * 1e6 : null
    const served = serving && { revisionId: serving.revisionId, ready: health?.ready ?? 0, memoryLimit: limit }
    return { deploymentId: this.#deploymentId, agents, serving: served ?? null, restarts: this.restarts }
  }

  get restarts(): readonly AgentRestart[] {
    return this.#link.connection?.state.restarts ?? []
  }

  /** undefined: nothing should run, or the state is not known yet. */
  get isAsleep(): boolean | undefined {
    return this.#desired ? fs.existsSync(this.#files.asleep) : undefined
  }

  /** Names of artifacts and containers that must not be removed. Null: not known. */
  async inUse(): Promise<{ artifacts: string[]; containers: string[] } | null> {
    const connection = await this.#link.connect(this.#claim, false)
    if (!connection) return { artifacts: [], containers: [] }
    if (isForeign(connection)) return null
    const { artifacts, containers } = usedIn(connection.state)
    return { artifacts, containers: [...containers, ...(this.#container === null ? [] : [this.#container])] }
  }

  /** Sets the desired state and reconciles it in the background; null: nothing should serve. */
  ensure(claim: LeasedClaim, desired: DesiredState | null): void {
    this.#setClaim(claim)
    this.#desired = desired
    this.#queue.enqueue()
  }

  /** Opens the stable address; returns its URL. Throws StepFailure when another program has its port and keeps it. */
  async open(claim: LeasedClaim, signal: AbortSignal): Promise<string> {
    this.#setClaim(claim)
    await this.#fallingAsleep
    this.#endSleep()
    const connection = (await this.#link.connect(claim, true))!
    return unlessAborted(signal, this.#open(connection))
  }

  /** Starts a candidate; resolves when it is ready, at the latest after `ms`. */
  async prepare(
    claim: LeasedClaim,
    plan: AgentPlan,
    ms: number,
    signal: AbortSignal,
    onProgress: OnProgress,
  ): Promise<Prepared> {
    signal.throwIfAborted()
    this.#deploying = true
    try {
      await this.#fallingAsleep
      const connection = await this.#ready(claim, plan)
      const { key } = plan
      const ready = connection.request({ verb: 'prepare', plan, ms }, { ms: ms + REPORT_MARGIN_MS, onProgress })
      await unlessAborted(signal, ready, () => connection.request({ verb: 'discard', key }, { ms: DISCARD_TIMEOUT_MS }))
      return {
        commit: (record) => this.#commit(claim, connection, plan, record),
        discard: () => this.#discard(connection, plan.key),
      }
    } catch (error) {
      this.#endDeploy()
      signal.throwIfAborted()
      throw error
    }
  }

  /** Ends everything of the deployment here, under this claim. Throws when something can't be ended. */
  async end(claim: LeasedClaim, drainMs: number): Promise<void> {
    this.#desired = null
    try {
      // a killed supervisor leaves its lock, and maybe its agent; a new supervisor ends that agent first
      await this.#endAll(claim, fs.existsSync(this.#files.lock), drainMs)
    } catch (error) {
      if (!(error instanceof SupervisorSilent) || !claim.leaseValid()) throw error
      killSupervisor(this.#files)
      this.#link.close()
      await this.#endAll(claim, true, 0)
    }
    void this.close()
  }

  /** Like `end`, under the last claim, even if it has expired. The fencing token protects a newer holder. */
  endOwn = (drainMs: number): Promise<void> => this.end(this.#claim, drainMs)

  /** Disconnects. The agent keeps serving. Resolves when no call is in progress. */
  async close(): Promise<void> {
    if (!this.#queue.signal.aborted) {
      void this.#queue.stop()
      this.#link.close()
      this.#queuedStart?.end()
      clearTimeout(this.#idleTimer)
      this.#machine.sleeping.remove(this.#deploymentId)
      this.#onClosed()
    }
    await this.#shipper?.end()
  }

  #setClaim(claim: LeasedClaim): void {
    if (this.#claim === claim) return
    this.#claim = claim
    this.#shipper?.held(claim)
  }

  async #commit(
    claim: LeasedClaim,
    connection: Connection,
    plan: AgentPlan,
    record: () => Promise<boolean>,
  ): Promise<void> {
    const { key, revisionId } = plan
    let recorded = false
    try {
      await connection.request({ verb: 'hold', key })
      recorded = await record()
    } finally {
      // without the lease this server can't know whether the result was recorded: the next holder decides
      if (!recorded && claim.leaseValid()) await this.#discard(connection, key)
      else if (!recorded) this.#endDeploy()
    }
    if (!recorded) return
    this.#desired = { key, revisionId, redeploying: false, plan: async () => plan }
    try {
      await connection.request({ verb: 'switch', key })
      this.#sentPlan = { connection, plan: hashOf(plan) }
    } catch {
      // the record decides: the next reconcile makes it serve
      this.#sentPlan = null
    }
    this.#endDeploy()
  }

  async #discard(connection: Connection, key: string): Promise<void> {
    await connection.request({ verb: 'discard', key }, { ms: DISCARD_TIMEOUT_MS }).catch(() => undefined)
    this.#endDeploy()
  }

  #endDeploy(): void {
    this.#deploying = false
    this.#queue.enqueue()
  }

  /** Replaces a supervisor that does not understand our protocol or this plan. */
  async #ready(claim: LeasedClaim, plan: AgentPlan): Promise<Connection> {
    const found = (await this.#link.connect(claim, true))!
    if (!isForeign(found) && understands(found, plan)) return this.#sendDesired(found).then(() => found)
    await endSupervisor(found, REPLACED_DRAIN_MS)
    this.#link.close()
    const connection = (await this.#link.connect(claim, true))!
    if (isForeign(connection)) throw new Error('The supervisor of another version does not end')
    await this.#open(connection)
    await this.#sendDesired(connection)
    return connection
  }

  async #reconcile(): Promise<void> {
    if (this.#desired === undefined) return
    const found = await this.#link.connect(this.#claim, false)
    if (!found && this.#desired && (await this.#staysAsleep(this.#desired))) return
    this.#endSleep()
    if (found || !this.#desired) return this.#serve(found)
    this.#queuedStart?.end()
    this.#queuedStart = this.#machine.enqueueStart(lastServedAt(this.#files))
    try {
      await unlessAborted(this.#queue.signal, this.#queuedStart.begun)
      await this.#serve(await this.#link.connect(this.#claim, !!this.#desired))
    } catch (error) {
      this.#queuedStart.end()
      throw error
    }
    this.#watchStart()
  }

  /** Leaves the start queue when the agent has started, or can't be started. */
  #watchStart(): void {
    if (!this.#queuedStart?.isWaiting() && !isStarting(this.#link.connection)) this.#queuedStart?.end()
  }

  async #serve(connection: Connection | null): Promise<void> {
    if (!connection || isForeign(connection)) return
    if (!this.#desired) {
      if (this.#deploying) return
      await connection.request({ verb: 'run', plan: null })
      return
    }
    // runs while the agent starts; the health says why an address can't be opened
    const opened = this.#open(connection).catch(() => undefined)
    await this.#sendDesired(connection)
    await this.#restart(connection)
    await this.#sleepIfIdle(connection, opened)
  }

  /** Ends the agent and its supervisor when it was not busy and no request was open for `idleMs`. The door keeps the address. */
  async #sleepIfIdle(connection: Connection, opened: Promise<unknown>): Promise<void> {
    clearTimeout(this.#idleTimer)
    const desired = this.#desired
    const sleeper = desired && (await this.#sleeper(desired))
    if (!sleeper) return
    const mayEnd = () => this.#desired?.key === desired.key && !this.#deploying && isSettled(desired, connection.state)
    const idleMs = desired.idleMs!
    // a state that reaches the door after `sleep` would end the sleep
    if (mayEnd()) await opened
    const busyMs = Math.max(0, this.#busyAt + idleMs - performance.now())
    const waitMs = mayEnd() ? busyMs : Math.min(UNSETTLED_MS, idleMs)
    const againMs = waitMs || (await this.#machine.sleeping.tryToSleep(sleeper, idleMs))
    if (againMs !== null) {
      this.#idleTimer = setTimeout(() => this.#queue.enqueue(), againMs).unref()
      return
    }
    // the door forwards requests again when the supervisor tells it the state
    if (!mayEnd()) return void (await this.#open(connection))
    writeAtomically(this.#files.asleep, desired.key)
    const ended = endSupervisor(connection, 0).then(() => connection.closed)
    this.#fallingAsleep = ended.catch(() => undefined)
    await ended
    this.#queue.enqueue()
  }

  /** What the door needs to keep the address; null: this deployment never sleeps. */
  async #sleeper({ idleMs, wakeMs = 0 }: DesiredState): Promise<Sleeper | null> {
    if (idleMs === undefined) return null
    const { place, url } = await addressOf(this.#machine, this.#claim.deployment)
    if (place.name === undefined) return null
    this.url = url
    const { bounds } = this.#machine.options
    return { deployment: this.#deploymentId, place, ...(bounds && { bounds }), waitMs: wakeMs }
  }

  /** Whether the agent sleeps on: no request, deploy or restart has come since. */
  async #staysAsleep(desired: DesiredState): Promise<boolean> {
    if (!this.isAsleep || fs.readFileSync(this.#files.asleep, 'utf8') !== desired.key) return false
    const sleeper = await this.#sleeper(desired)
    if (!sleeper) return false
    this.#machine.sleeping.add(sleeper, () => {
      this.#endSleep()
      this.#queue.enqueue()
    })
    return true
  }

  /** The agent is started, or runs already. Requests wait at the door until it serves. */
  #endSleep(): void {
    this.#machine.sleeping.remove(this.#deploymentId)
    fs.rmSync(this.#files.asleep, { force: true })
  }

  /** Replaces the serving agent like a deploy. A deploy that begins ends it; after a failure the queue repeats it. */
  async #restart(connection: Connection): Promise<void> {
    const desired = this.#desired
    const isDue = () => desired && !this.#deploying && isRestartDue(desired, connection.state)
    if (!desired || !isDue()) return
    const plan = await desired.plan(this.#queue.signal)
    if (!isDue() || desired !== this.#desired) return
    const { key } = plan
    const note = (message: string) => desired.restart?.log.write('deploy', message)
    if (this.#restarting !== key) note('Restarting: the present agent serves until the new one is ready')
    this.#restarting = key
    this.#container = containerOf(plan)
    await connection.request(
      { verb: 'prepare', plan, ms: RESTART_TIMEOUT_MS },
      { ms: RESTART_TIMEOUT_MS + REPORT_MARGIN_MS },
    )
    await connection.request({ verb: 'hold', key })
    await connection.request({ verb: 'switch', key })
    this.#sentPlan = { connection, plan: hashOf(plan) }
    this.#problem = null
    note('The agent was restarted')
  }

  /** Sends the desired state, unless it was sent already or would end a candidate in progress. */
  #sendDesired(connection: Connection): Promise<void> {
    return this.#sending.run(this.#queue.signal, async () => {
      const desired = this.#desired
      const sent = this.#sentPlan?.connection === connection ? this.#sentPlan.plan : null
      const isDue = () => desired === this.#desired && (sent === null || !this.#deploying)
      if (!desired || !isDue()) return
      if (isRestartDue(desired, connection.state) || isOtherAttempt(desired, connection.state)) {
        this.#sentPlan = { connection, plan: '' }
        return
      }
      try {
        const plan = await desired.plan(this.#queue.signal)
        this.#container = containerOf(plan)
        if (!isDue()) return
        if (sent !== hashOf(plan)) await connection.request({ verb: 'run', plan })
        this.#sentPlan = { connection, plan: hashOf(plan) }
        this.#problem = null
      } catch (error) {
        // a candidate does not need the plan of the serving revision
        if (!(error instanceof StepFailure) || !this.#deploying) throw error
        this.#fail(error)
      }
    })
  }

  async #endAll(claim: LeasedClaim, start: boolean, drainMs: number): Promise<void> {
    const connection = await this.#link.connect(claim, start)
    if (connection) await endSupervisor(connection, drainMs)
  }

  /** Opens the stable address; returns its URL. */
  async #open(connection: Connection): Promise<string> {
    const { place, url } = await addressOf(this.#machine, this.#claim.deployment)
    const { port, host: bindAddress, name, hosts, tls } = place
    // a supervisor of an unknown protocol is replaced by `prepare`
    if (isForeign(connection)) return url
    const door = await this.#machine.door()
    const { node } = door
    const { bounds } = this.#machine.options
    const names = name && hosts ? { name, hosts, ...(tls && { tls }) } : {}
    const request = { verb: 'open', port, bindAddress, ...names, door, ...(bounds && { bounds }), node } as const
    await connection.request(request, { ms: OPEN_TIMEOUT_MS })
    this.url = url
    return url
  }

  #retry(error: unknown): void {
    if (error instanceof StaleToken) return void this.close()
    this.#fail(error)
    this.#queue.requeueAfter(backoff(this.#failures++, ...RETRY_MS))
  }

  #fail(error: unknown): void {
    if (error instanceof CandidateGone) return
    this.#problem = problemOf(error)
  }
}
