/**
 * Copies the output of a deployment's agents from the files of their supervisor to the deploy logs, while this server holds the
 * deployment. Continues where any server stopped. Idle while nothing is printed.
 */
import { ClaimLostError } from '../../../domain/errors/errors.ts'
import type { OutputRequest } from '../../../domain/protocol/protocol.ts'
import { backoff, sleep } from '../../../platform/async/retry.ts'
import type { Semaphore } from '../../../platform/async/semaphore.ts'
import type { LeasedClaim } from '../../runtimes/runtime.ts'
import type { OutputLog } from '../machine/machine.ts'
import { gapMessage, type OutputLine } from '../supervisor/output-line.ts'
import { OutputReader } from '../supervisor/output-reader.ts'

/** Later lines join the batch. Lines that the server wrote before are in the log by then (worker/log-sink.ts). */
const BATCH_DELAY_MS = 300
/** lines of one statement */
const BATCH_LINES = 200
/** multiple of the agent's print rate, to catch up after a time without a server */
const CATCH_UP_FACTOR = 5

export interface ShipperOptions extends OutputLog {
  /** output limit of each agent */
  linesPerSecond: number
  /** shared by all deployments */
  limit: Semaphore
}

type HeldClaim = Pick<LeasedClaim, 'claimId' | 'token' | 'deployment'>

export class OutputShipper {
  readonly #options: ShipperOptions
  readonly #reader: OutputReader
  readonly #ending = new AbortController()
  #claim: HeldClaim | null = null
  /** end of the log; null: unknown */
  #position: { source: string; line: number } | null = null
  #hasNew = false
  #running: Promise<void> | null = null

  /** `folder`: the output files of one deployment. */
  constructor(options: ShipperOptions, folder: string) {
    this.#options = options
    this.#reader = new OutputReader(folder)
  }

  held(claim: HeldClaim): void {
    this.#claim = claim
    this.wake()
  }

  /** Call when the output files have new lines. */
  wake(): void {
    if (!this.#claim || this.#ending.signal.aborted) return
    this.#hasNew = true
    this.#running ??= this.#run()
  }

  /** Resolves when no call is in progress. Unsent lines stay in the files. */
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
        // the next holder continues, so the position may change
        this.#position = null
        if (error instanceof ClaimLostError) {
          if (claim === this.#claim) this.#claim = null
          continue
        }
        const deploymentId = claim.deployment.id
        if (failures === 0)
          this.#options.warn(
            { err: error, deploymentId },
            'The output of an agent could not be stored; it stays in its files and is sent again',
          )
        this.#hasNew = true
        await sleep(backoff(failures++, 1000, 30_000), signal)
      }
    }
    this.#running = null
  }

  async #shipAll(claim: HeldClaim): Promise<void> {
    const { signal } = this.#ending
    while (!signal.aborted) {
      const lines = await this.#options.limit.run(signal, () => this.#shipNext(claim))
      if (lines === 0) return
      await sleep((1000 * lines) / (CATCH_UP_FACTOR * this.#options.linesPerSecond), signal)
    }
  }

  /** Returns the number of lines sent; 0: there are no more. */
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
