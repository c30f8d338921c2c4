/**
 * The server's view of one supervised deployment: its desired state, its supervisor, and the switch to a new agent.
 * Level-based: after a failure it connects, starts and sends the desired state again (README.md).
 */
import fs from 'node:fs'
import type { Health, Progress } from '../../../../domain/protocol/protocol.ts'
import { StepFailure } from '../../../output/step-failure.ts'
import type { LeasedClaim, OnProgress } from '../../runtime.ts'
import type { Machine } from '../machine/machine.ts'
import { reservePort } from '../machine/ports.ts'
import type { QueuedStart } from '../machine/start-queue.ts'
import type { AgentPlan } from '../supervisor/protocol.ts'
import { CandidateGone, type Connection, StaleToken, SupervisorSilent } from './connection.ts'
import { type DesiredState, hashOf, isOtherAttempt, type Prepared, usedIn } from './desired-state.ts'
import { foreignHealth, isStarting, notServing, problemOf, queuedProgress } from './health.ts'
import { killSupervisor, lastServedAt, type SupervisorFiles, supervisorFiles } from './supervisor-files.ts'
import { isForeign, SupervisorLink, understands } from './supervisor-link.ts'
import { unlessAborted } from './unless-aborted.ts'
import { WorkLoop } from './work-loop.ts'

/** includes the time that the supervisor waits for another program to free the port */
const OPEN_MS = 40_000
const DISCARD_MS = 15_000
/** extra time for the supervisor to report that a deploy has timed out */
const LATE_MS = 10_000
/** time for the supervisor to end its agents after the drain */
const END_MS = 30_000
/** drain time of a supervisor that is replaced */
const REPLACED_MS = 2000

export class SupervisedDeployment {
  readonly #machine: Machine
  readonly #deploymentId: string
  readonly #files: SupervisorFiles
  readonly #link: SupervisorLink
  readonly #loop = new WorkLoop(
    () => this.#reconcile(),
    (error) => (error instanceof StaleToken ? this.close() : this.#fail(error)),
  )
  readonly #onClosed: () => void
  #claim!: LeasedClaim
  /** undefined: not known yet */
  #wanted: DesiredState | null | undefined
  /** hash of the plan sent last on this connection */
  #told: { connection: Connection; plan: string } | null = null
  #deploying = false
  /** container of the newest plan; it may be about to run */
  #container: string | null = null
  /** why the desired state can't be sent */
  #problem: Progress | null = null
  #telling: Promise<void> = Promise.resolve()
  /** place in the start queue of a deployment without a supervisor */
  #turn: QueuedStart | null = null

  /** `onClosed`: called when another server holds the deployment, so this object is no longer used. */
  constructor(machine: Machine, claim: LeasedClaim, onClosed: () => void) {
    this.#machine = machine
    this.#deploymentId = claim.deployment.id
    this.#files = supervisorFiles(machine.options.dataDir, claim.deployment.id)
    this.#hold(claim)
    this.#onClosed = onClosed
    this.#link = new SupervisorLink(machine, this.#deploymentId, {
      onOutput: () => machine.options.output?.printed(this.#deploymentId),
      onStale: () => this.close(),
      onState: () => this.#watchStart(),
      onBroken: () => this.#loop.wake(),
    })
  }

  /** undefined: nothing should run, or the state is not known yet. */
  get health(): Health | undefined {
    if (!this.#wanted) return undefined
    const { connection } = this.#link
    if (connection && isForeign(connection)) return foreignHealth(connection)
    const serves = connection?.state.serving?.revisionId === this.#wanted.revisionId ? connection.state.health : null
    if (serves) return serves
    if (this.#turn?.isWaiting()) return notServing(queuedProgress(this.#turn))
    return this.#problem || this.#told ? notServing(this.#problem) : undefined
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
  ensure(claim: LeasedClaim, wanted: DesiredState | null): void {
    this.#hold(claim)
    this.#wanted = wanted
    this.#loop.wake()
  }

  /** Opens the stable address; returns its port. Throws StepFailure when another program has it and keeps it. */
  async open(claim: LeasedClaim, signal: AbortSignal): Promise<number> {
    this.#hold(claim)
    const connection = (await this.#link.connect(claim, true))!
    const port = await this.#port()
    // a supervisor of an unknown protocol is replaced by `prepare`
    if (!isForeign(connection)) await unlessAborted(signal, this.#open(connection))
    return port
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
      const connection = await this.#ready(claim, plan)
      const { key } = plan
      const ready = connection.ask({ verb: 'prepare', plan, ms }, { ms: ms + LATE_MS, onProgress })
      await unlessAborted(signal, ready, () => connection.ask({ verb: 'discard', key }, { ms: DISCARD_MS }))
      return {
        commit: (record) => this.#commit(claim, connection, plan, record),
        discard: () => this.#discard(connection, plan.key),
      }
    } catch (error) {
      this.#deployed()
      signal.throwIfAborted()
      throw error
    }
  }

  /** Ends everything of the deployment here, under this claim. Throws when something can't be ended. */
  async end(claim: LeasedClaim, drainMs: number): Promise<void> {
    this.#wanted = null
    try {
      // a killed supervisor leaves its lock, and maybe its agent; a new supervisor ends that agent first
      await this.#endAll(claim, fs.existsSync(this.#files.lock), drainMs)
    } catch (error) {
      if (!(error instanceof SupervisorSilent) || !claim.leaseValid()) throw error
      killSupervisor(this.#files)
      this.#link.close()
      await this.#endAll(claim, true, 0)
    }
    this.close()
  }

  /** Like `end`, under the last claim, even if it has expired. The fencing token protects a newer holder. */
  endOwn = (drainMs: number): Promise<void> => this.end(this.#claim, drainMs)

  /** Disconnects. The agent keeps serving. */
  close(): void {
    if (this.#loop.signal.aborted) return
    this.#loop.end()
    this.#link.close()
    this.#turn?.end()
    this.#onClosed()
  }

  #hold(claim: LeasedClaim): void {
    if (this.#claim === claim) return
    this.#claim = claim
    this.#machine.options.output?.held(claim, this.#files.output)
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
      await connection.ask({ verb: 'hold', key })
      recorded = await record()
    } finally {
      // without the lease this server can't know whether the result was recorded: the next holder decides
      if (!recorded && claim.leaseValid()) await this.#discard(connection, key)
      else if (!recorded) this.#deployed()
    }
    if (!recorded) return
    this.#wanted = { key, revisionId, redeploying: false, plan: async () => plan }
    try {
      await connection.ask({ verb: 'switch', key })
      this.#told = { connection, plan: hashOf(plan) }
    } catch {
      // the record decides: the next reconcile makes it serve
      this.#told = null
    }
    this.#deployed()
  }

  async #discard(connection: Connection, key: string): Promise<void> {
    await connection.ask({ verb: 'discard', key }, { ms: DISCARD_MS }).catch(() => undefined)
    this.#deployed()
  }

  #deployed(): void {
    this.#deploying = false
    this.#loop.wake()
  }

  /** Replaces a supervisor that does not understand our protocol or this plan. */
  async #ready(claim: LeasedClaim, plan: AgentPlan): Promise<Connection> {
    const found = (await this.#link.connect(claim, true))!
    if (!isForeign(found) && understands(found, plan)) return this.#tell(found).then(() => found)
    await found.ask({ verb: 'end', drainMs: REPLACED_MS }, { ms: REPLACED_MS + END_MS })
    this.#link.close()
    const connection = (await this.#link.connect(claim, true))!
    if (isForeign(connection)) throw new Error('The supervisor of another version does not end')
    await this.#open(connection)
    await this.#tell(connection)
    return connection
  }

  async #reconcile(): Promise<void> {
    if (this.#wanted === undefined) return
    const found = await this.#link.connect(this.#claim, false)
    if (found || !this.#wanted) return this.#serve(found)
    this.#turn?.end()
    this.#turn = this.#machine.startQueue.enqueue(lastServedAt(this.#files))
    try {
      await unlessAborted(this.#loop.signal, this.#turn.begun)
      await this.#serve(await this.#link.connect(this.#claim, !!this.#wanted))
    } catch (error) {
      this.#turn.end()
      throw error
    }
    this.#watchStart()
  }

  /** Leaves the start queue when the agent has started, or can't be started. */
  #watchStart(): void {
    if (!this.#turn?.isWaiting() && !isStarting(this.#link.connection)) this.#turn?.end()
  }

  async #serve(connection: Connection | null): Promise<void> {
    if (!connection || isForeign(connection)) return
    if (!this.#wanted) {
      if (this.#deploying) return
      await connection.ask({ verb: 'run', plan: null })
      return
    }
    // runs while the agent starts; the health says why an address can't be opened
    void this.#open(connection).catch(() => undefined)
    await this.#tell(connection)
  }

  /** Sends the desired state, unless it was sent already or would end a candidate in progress. */
  #tell(connection: Connection): Promise<void> {
    const told = this.#telling.then(() => this.#tellNow(connection))
    this.#telling = told.catch(() => undefined)
    return told
  }

  async #tellNow(connection: Connection): Promise<void> {
    const wanted = this.#wanted
    const knows = this.#told?.connection === connection
    if (!wanted || (this.#deploying && knows)) return
    if (isOtherAttempt(wanted, connection.state)) {
      this.#told = { connection, plan: '' }
      return
    }
    try {
      const plan = await wanted.plan(this.#loop.signal)
      this.#container = plan.program.kind === 'image' ? plan.program.container : null
      if (wanted !== this.#wanted || (this.#deploying && knows)) return
      if (!knows || this.#told?.plan !== hashOf(plan)) await connection.ask({ verb: 'run', plan })
      this.#told = { connection, plan: hashOf(plan) }
      this.#problem = null
    } catch (error) {
      // a candidate does not need the plan of the serving revision
      if (!(error instanceof StepFailure) || !this.#deploying) throw error
      this.#fail(error)
    }
  }

  async #endAll(claim: LeasedClaim, start: boolean, drainMs: number): Promise<void> {
    const connection = await this.#link.connect(claim, start)
    await connection?.ask({ verb: 'end', drainMs }, { ms: drainMs + END_MS })
  }

  #port(): Promise<number> {
    return reservePort(this.#machine.ports, this.#deploymentId)
  }

  async #open(connection: Connection): Promise<void> {
    const { node, ports } = this.#machine
    const { bindAddress } = ports
    await connection.ask({ verb: 'open', port: await this.#port(), bindAddress, node }, { ms: OPEN_MS })
  }

  #fail(error: unknown): void {
    if (error instanceof CandidateGone) return
    this.#problem = problemOf(error)
  }
}
