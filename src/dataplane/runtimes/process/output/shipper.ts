/**
 * Brings what agents print from the files of their supervisors into the deploy logs, for as long as this server holds their
 * deployments. Begins where the last one ended, whichever server that was; does nothing while nothing is printed.
 */
import { ClaimLostError } from '../../../../domain/errors/errors.ts'
import type { OutputRequest } from '../../../../domain/protocol/protocol.ts'
import { backoff, sleep } from '../../../../platform/async/retry.ts'
import { Semaphore } from '../../../../platform/async/semaphore.ts'
import type { LeasedClaim } from '../../runtime.ts'
import { gapMessage, type OutputLine } from '../supervisor/output/line.ts'
import { OutputReader } from './output-reader.ts'

/**
 * ms from the word that there is more to the first of it: what comes meanwhile goes together, and what the server itself
 * has said before is in the log by then (worker/log-sink.ts)
 */
const BATCH_DELAY_MS = 300
/** lines of one statement */
const BATCH_LINES = 200
/** deployments that are at it at a time: connections and memory are for others, too */
const MAX_CONCURRENT_SHIPMENTS = 2
/** times as fast as an agent may print: what was printed while no server was there is caught up with */
const CATCH_UP_FACTOR = 5

export interface ShipperOptions {
  /** see ControlPlane */
  send: (request: OutputRequest) => Promise<number>
  /** that an agent may print */
  linesPerSecond: number
  warn: (about: { err: unknown; deploymentId: string }, message: string) => void
}

type HeldClaim = Pick<LeasedClaim, 'claimId' | 'token' | 'deployment' | 'leaseValid'>

export class OutputShipper {
  readonly #options: ShipperOptions
  readonly #shipments = new Map<string, Shipment>()
  readonly #limit = new Semaphore(MAX_CONCURRENT_SHIPMENTS)

  constructor(options: ShipperOptions) {
    this.#options = options
  }

  /** The deployment is held, from now on under this claim. `folder`: of its files. */
  held(claim: HeldClaim, folder: string): void {
    for (const [other, shipment] of this.#shipments) if (shipment.isOver) this.#shipments.delete(other)
    const { id } = claim.deployment
    const shipment = this.#shipments.get(id) ?? new Shipment(this.#options, this.#limit, folder)
    this.#shipments.set(id, shipment)
    shipment.held(claim)
  }

  /** There is more in its files. */
  printed(deploymentId: string): void {
    this.#shipments.get(deploymentId)?.wake()
  }

  /** What was not sent yet stays in the files. Resolves when no call is under way. */
  async close(): Promise<void> {
    const all = [...this.#shipments.values()]
    this.#shipments.clear()
    await Promise.all(all.map((shipment) => shipment.end()))
  }
}

/** The output of one deployment. */
class Shipment {
  readonly #options: ShipperOptions
  readonly #limit: Semaphore
  readonly #reader: OutputReader
  readonly #ending = new AbortController()
  #claim: HeldClaim | null = null
  /** where the log ends; null: not known */
  #position: { source: string; line: number } | null = null
  #hasNew = false
  #running: Promise<void> | null = null

  constructor(options: ShipperOptions, limit: Semaphore, folder: string) {
    this.#options = options
    this.#limit = limit
    this.#reader = new OutputReader(folder)
  }

  /** Nothing is under way, and the deployment is not held any more. */
  get isOver(): boolean {
    return !this.#running && !this.#claim?.leaseValid()
  }

  held(claim: HeldClaim): void {
    this.#claim = claim
    this.wake()
  }

  wake(): void {
    if (!this.#claim || this.#ending.signal.aborted) return
    this.#hasNew = true
    this.#running ??= this.#run()
  }

  async end(): Promise<void> {
    this.#ending.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending
    for (let failures = 0; this.#hasNew && this.#claim && !signal.aborted; ) {
      this.#hasNew = false
      await sleep(BATCH_DELAY_MS, signal)
      const claim = this.#claim
      try {
        await this.#shipAll(claim)
        failures = 0
      } catch (error) {
        if (signal.aborted) break
        // who has it now goes on; `position` may be another one then
        this.#position = null
        if (error instanceof ClaimLostError) {
          if (claim === this.#claim) this.#claim = null
          continue
        }
        const deploymentId = claim.deployment.id
        if (failures === 0)
          this.#options.warn({ err: error, deploymentId }, 'The output of an agent waits: it could not be stored')
        this.#hasNew = true
        await sleep(backoff(failures++, 1000, 30_000), signal)
      }
    }
    this.#running = null
  }

  async #shipAll(claim: HeldClaim): Promise<void> {
    const { signal } = this.#ending
    while (!signal.aborted) {
      const lines = await this.#limit.run(signal, () => this.#shipNext(claim))
      if (lines === 0) return
      await sleep((1000 * lines) / (CATCH_UP_FACTOR * this.#options.linesPerSecond), signal)
    }
  }

  /** How many lines were sent; 0: there are no more. */
  async #shipNext(claim: HeldClaim): Promise<number> {
    const sources = await this.#reader.sources()
    const known = this.#position ? sources.indexOf(this.#position.source) : -1
    for (const source of sources.slice(Math.max(0, known))) {
      if (this.#position?.source !== source) await this.#send(claim, { source, from: 0, to: 0, lines: [] })
      const from = this.#position!.line
      const { lines, missing } = await this.#reader.read(source, from, BATCH_LINES)
      if (lines.length === 0) continue
      const sent = [...(missing > 0 ? [gapLine(missing, lines[0]!)] : []), ...lines]
      await this.#send(claim, { source, from, to: lines.at(-1)!.n, lines: sent.map(toLogEntry) })
      return lines.length
    }
    return 0
  }

  async #send({ claimId, token }: HeldClaim, request: Omit<OutputRequest, 'claimId' | 'token'>): Promise<void> {
    const line = await this.#options.send({ claimId, token, ...request })
    this.#position = { source: request.source, line }
  }
}

type Unnumbered = Omit<OutputLine, 'n'>

function gapLine(missing: number, { time, revisionId, attempt }: OutputLine): Unnumbered {
  const message = gapMessage(missing, 'their file was removed before they could be stored here')
  return { time, revisionId, attempt, level: 'warning', message }
}

function toLogEntry({ time, revisionId, attempt, level, message, styles }: Unnumbered): OutputRequest['lines'][number] {
  return { time: new Date(time), revisionId, attempt, level, message, styles }
}
