/**
 * Carries log lines of one claim to the control plane: in batches, in order, with bounded memory. A control
 * plane that is away costs lines, never the agent that prints them.
 */
import { ClaimLostError } from '../domain/errors.ts'
import type { ControlPlane, LogEntry } from '../domain/work/protocol.ts'
import { within } from './backoff.ts'
import type { RevisionLog } from './runtime/runtime.ts'
import { storable } from './storable.ts'

const FLUSH_MS = 200
const RETRY_MS = 2000
const BATCH = 100
/** lines kept while they can't be sent */
const MOST = 5000
/** and characters of them: a worker holds many claims */
const MOST_CHARACTERS = 1_000_000

interface Pending extends LogEntry {
  revisionId: string
  attempt: number
}

export class LogSink {
  readonly #controlPlane: ControlPlane
  readonly #claim: { claimId: string; token: string }
  #pending: Pending[] = []
  /** characters in what is pending */
  #size = 0
  #dropped = 0
  #sending: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  /** the last call failed: the next one comes with the timer, however much is printed meanwhile */
  #failed = false
  #closed = false

  constructor(controlPlane: ControlPlane, claim: { claimId: string; token: string }) {
    this.#controlPlane = controlPlane
    this.#claim = claim
  }

  /** The log of one attempt of a revision. */
  of(revision: { id: string; attempt: number }): RevisionLog {
    const { id: revisionId, attempt } = revision
    return {
      write: (type, message, level = 'info') => {
        if (this.#closed) return
        if (this.#pending.length >= MOST || this.#size >= MOST_CHARACTERS) {
          this.#dropped++
          return
        }
        const line = { revisionId, attempt, type, level, message: storable(message), time: new Date() }
        if (this.#dropped > 0)
          this.#keep({ ...line, level: 'warning', message: `… ${this.#dropped} lines were dropped` })
        this.#dropped = 0
        this.#keep(line)
        if (this.#pending.length >= BATCH && !this.#failed) this.#send()
        else this.#timer ??= setTimeout(() => this.#send(), FLUSH_MS)
      },
    }
  }

  /** Resolves when what was written until now has been sent, at the latest after `ms`. */
  async flush(ms = 3000): Promise<void> {
    this.#send()
    if (this.#sending) await within(ms, this.#sending)
  }

  /** From now on everything is dropped. */
  close(): void {
    this.#closed = true
    this.#pending = []
    this.#size = 0
    if (this.#timer) clearTimeout(this.#timer)
  }

  #keep(line: Pending): void {
    this.#size += line.message.length
    this.#pending.push(line)
  }

  #send(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = null
      // written, and told to be sent, between the last look and now
      if (this.#pending.length > 0 && !this.#timer && !this.#closed) this.#send()
      // whoever waits for the one waits for the other
      return this.#sending
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#pending.length > 0 && !this.#closed) {
      const first = this.#pending[0]!
      const other = this.#pending.findIndex((p) => p.revisionId !== first.revisionId || p.attempt !== first.attempt)
      const batch = this.#pending.slice(0, Math.min(BATCH, other < 0 ? BATCH : other))
      try {
        await this.#controlPlane.logs({
          ...this.#claim,
          revisionId: first.revisionId,
          attempt: first.attempt,
          entries: batch.map(({ type, level, message, time }) => ({ type, level, message, time })),
        })
      } catch (error) {
        if (error instanceof ClaimLostError) return this.close()
        // try again later; what is new meanwhile is dropped once MOST is reached
        this.#failed = true
        if (this.#timer) clearTimeout(this.#timer)
        this.#timer = this.#closed ? null : setTimeout(() => this.#send(), RETRY_MS)
        return
      }
      this.#failed = false
      for (const { message } of this.#pending.splice(0, batch.length)) this.#size -= message.length
    }
  }
}
