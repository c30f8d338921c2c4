/**
 * A request with an Idempotency-Key (docs/api-rules.md#retries): each write of it is done once. What was done is looked up
 * before any verb runs, so that a repeat is answered also where the verb would refuse it by now (the name is taken, the
 * revision has ended); what is being done on this server is known at once; and in the write's own transaction the lock decides.
 */

import type { KeyRing } from '../crypto/keyring.ts'
import { DomainError, ValidationError, type Violation } from '../errors/errors.ts'
import type { RawInput } from '../parsing/parse.ts'
import type { RequestContext } from '../transaction/context.ts'
import { type Entry, type Guard, type Idempotency, Repeated } from '../transaction/idempotency.ts'
import { type CallerKey, findEntries, insertEntry, lockEntries, lockName, type StoredEntry } from './entries.ts'
import { fingerprint, matchesFingerprint } from './fingerprint.ts'
import { readKey } from './key.ts'

/** How a transport stores what a verb has answered, and answers it again. `undefined`: the verb answers nothing. */
export interface AnswerCodec {
  encode(result: unknown): Entry
  decode(entry: Entry): unknown
}

export interface KeyedRequestOptions {
  /** the header's value */
  header: string
  /** all that was asked for, as text: another one under the same key is refused */
  request: string
  codec: AnswerCodec
  /** Whether each write is known by its position, as in a document, which may have many. Default: there is one. */
  numbered?: boolean
}

/** What an item of several is answered by, where only that it was done counts. */
const EMPTY_ANSWER: AnswerCodec = {
  encode: () => ({ status: 204, answer: 'null', secretSetId: null }),
  decode: () => undefined,
}

const RETRY_AFTER_SECONDS = 1

const inFlight = () =>
  new DomainError('IDEMPOTENCY_IN_FLIGHT', 'A request with this Idempotency-Key is being worked on. Try again.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })

const OTHER_REQUEST: Violation = {
  loc: ['header', 'Idempotency-Key'],
  msg: 'Was used for another request, with another path or body: take a new key for each write.',
  type: 'idempotency_key_reused',
}

type EarlyOutcome = Pick<RawInput, 'refused' | 'instead'>

export class KeyedRequest implements Idempotency {
  /** what each verb is told instead of being carried out; empty: nothing forbids it */
  readonly known: EarlyOutcome
  readonly #of: CallerKey
  readonly #options: KeyedRequestOptions
  readonly #keyring: KeyRing
  readonly #release: () => void
  /** by position */
  readonly #entries: ReadonlyMap<string, StoredEntry>
  #write = 0
  /** positions that were asked for, and how many of them were answered from the store */
  readonly #asked = new Set<string>()
  #repeated = 0
  /** fingerprints of this very request */
  readonly #own = new Set<string>()
  #ended = false

  private constructor(ctx: RequestContext, options: KeyedRequestOptions, found: Found) {
    this.#keyring = ctx.keyring
    this.#options = options
    this.#of = found.of
    this.#entries = new Map(found.entries.map((entry) => [entry.position, entry]))
    this.#release = found.release
    this.known = found.known ?? (this.#areOthers(found.entries) ? { refused: [OTHER_REQUEST] } : {})
  }

  /** Takes the key, and looks up what was done under it: one statement. To be ended, whatever becomes of the request. */
  static async begin(ctx: RequestContext, options: KeyedRequestOptions): Promise<KeyedRequest> {
    const { keysInUse, query, actor, workspace } = ctx
    const read = readKey(options.header)
    const of = { workspaceId: workspace.id, subject: actor.subject, key: 'key' in read ? read.key : '' }
    const none = { of, entries: [], release: () => {} }
    if ('refused' in read) return new KeyedRequest(ctx, options, { ...none, known: { refused: [read.refused] } })
    const name = lockName(of)
    if (keysInUse.has(name)) return new KeyedRequest(ctx, options, { ...none, known: { instead: inFlight() } })
    keysInUse.add(name)
    const release = () => keysInUse.delete(name)
    try {
      return new KeyedRequest(ctx, options, { of, entries: await findEntries(query, of), release })
    } catch (error) {
      release()
      throw error
    }
  }

  /** Whether all that it asks for had been done before. */
  get isRepeat(): boolean {
    const all = this.#options.numbered ? this.#write : 1
    const writes = new Set([...this.#asked].map((position) => position.split('/')[0]))
    return this.#repeated === this.#asked.size && writes.size === all
  }

  next(): void {
    this.#write++
  }

  guard(item?: number): Guard {
    const write = this.#options.numbered ? String(this.#write) : ''
    return item === undefined ? this.#guard(write, this.#options.codec) : this.#guard(`${write}/${item}`, EMPTY_ANSWER)
  }

  /** The key is free for a repeat. A second time changes nothing. */
  end(): void {
    if (!this.#ended) this.#release()
    this.#ended = true
  }

  #areOthers(entries: readonly StoredEntry[]): boolean {
    // mostly one, of all writes of the request
    const made = new Set(entries.map(({ requestHash }) => requestHash))
    for (const known of this.#own) made.delete(known)
    for (const requestHash of made) {
      if (!matchesFingerprint(this.#keyring, requestHash, this.#options.request)) return true
      this.#own.add(requestHash)
    }
    return false
  }

  get #fingerprint(): string {
    const [known] = this.#own
    if (known !== undefined) return known
    const made = fingerprint(this.#keyring, this.#options.request)
    this.#own.add(made)
    return made
  }

  #guard(position: string, keeping: AnswerCodec): Guard {
    const of = this.#of
    let kept: Entry | null = null
    let committed = false
    const entry = this.#entries.get(position)
    this.#asked.add(position)
    return {
      known: entry && !this.known.refused ? { instead: new Repeated(entry) } : this.known,
      open: async (query) => {
        if (committed) return
        kept = null
        const made = await lockEntries(query, of, position)
        if (!made) throw inFlight()
        if (this.#areOthers(made)) throw new ValidationError([OTHER_REQUEST])
        const own = made.find((one) => one.position === position)
        if (own) throw new Repeated(own)
      },
      keep: (result) => {
        kept = keeping.encode(result)
      },
      close: async (query) => {
        if (committed) return
        const outcome = kept ?? keeping.encode(undefined)
        await insertEntry(query, of, { ...outcome, position, requestHash: this.#fingerprint })
      },
      committed: () => {
        committed = true
      },
      answer: (stored) => {
        this.#repeated++
        return keeping.decode(stored)
      },
    }
  }
}

/** What is known when a request begins. */
interface Found {
  of: CallerKey
  entries: readonly StoredEntry[]
  known?: EarlyOutcome
  release: () => void
}
