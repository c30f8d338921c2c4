/** Sends a claim's log lines in ordered batches, with bounded memory. An outage drops lines but never blocks agents. */
import { ClaimLostError } from '../../domain/errors/errors.ts'
import type { ControlPlane, LogEntry } from '../../domain/protocol/protocol.ts'
import { resultWithin } from '../../platform/async/time-limit.ts'
import { levelOf } from '../output/log-level.ts'
import { storable } from '../output/terminal-text.ts'
import type { RevisionLog } from '../runtimes/runtime.ts'
import { Backlog } from './backlog.ts'
import type { FencedClaim } from './fenced-claim.ts'

const FLUSH_MS = 200
const RETRY_MS = 2000
const BATCH = 100

export class LogSink {
  readonly #controlPlane: ControlPlane
  readonly #claim: Pick<FencedClaim, 'call'>
  readonly #pending = new Backlog()
  #sending: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  /** after a failed call, only the timer starts the next one */
  #failed = false
  #closed = false

  constructor(controlPlane: ControlPlane, claim: Pick<FencedClaim, 'call'>) {
    this.#controlPlane = controlPlane
    this.#claim = claim
  }

  logOf(revision: { id: string; attempt: number }): RevisionLog {
    const { id: revisionId, attempt } = revision
    const add = (line: Omit<LogEntry, 'time'>, own: boolean) => {
      if (this.#closed) return
      const message = storable(line.message)
      this.#pending.add({ ...line, revisionId, attempt, message, time: new Date() }, own)
      if (this.#pending.length >= BATCH && !this.#failed) this.#send()
      else this.#timer ??= setTimeout(() => this.#send(), FLUSH_MS)
    }
    return {
      write: (type, message, level = 'info') => add({ type, level, message }, true),
      print: (type, message, styles) =>
        add({ type, level: levelOf(message), message, styles: styles ?? undefined }, false),
    }
  }

  /** Resolves when all lines written so far are sent, or after `ms`. */
  async flush(ms = 3000): Promise<void> {
    this.#send()
    if (this.#sending) await resultWithin(ms, this.#sending)
  }

  close(): void {
    this.#closed = true
    this.#pending.clear()
    if (this.#timer) clearTimeout(this.#timer)
  }

  #send(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null
      // lines may arrive between the last check and now
      if (this.#pending.length > 0 && !this.#timer && !this.#closed) this.#send()
      // `flush` then also waits for these lines
      return this.#sending
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#pending.length > 0 && !this.#closed) {
      const batch = this.#pending.next(BATCH)
      const { revisionId, attempt } = batch[0]!
      try {
        const entries = batch.map(({ revisionId: _, attempt: __, ...entry }) => entry)
        await this.#claim.call((claim) => this.#controlPlane.logs({ ...claim, revisionId, attempt, entries }))
      } catch (error) {
        if (error instanceof ClaimLostError) return this.close()
        // the timer retries; the backlog drops lines that exceed its limit
        this.#failed = true
        if (this.#timer) clearTimeout(this.#timer)
        this.#timer = this.#closed ? null : setTimeout(() => this.#send(), RETRY_MS)
        return
      }
      this.#failed = false
      if (!this.#closed) this.#pending.remove(batch.length)
    }
  }
}
