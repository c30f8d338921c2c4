/** A request with an Idempotency-Key (docs/api-rules.md#retries): each write happens once. README.md has the checks. */
import type { KeyRing } from '../crypto/keyring.ts'
import { DomainError, ValidationError, type Violation } from '../errors/errors.ts'
import type { RawInput } from '../parsing/parse.ts'
import type { ReadContext, WriteContext } from '../transaction/context.ts'
import { type Entry, type Guard, type Idempotency, Repeated } from '../transaction/idempotency.ts'
import {
  type CallerKey,
  findEntries,
  fingerprint,
  insertEntry,
  lockEntries,
  lockName,
  matchesFingerprint,
  type StoredEntry,
} from './entries.ts'

const MAX_LENGTH = 255

/**
 * Two forms: a bare key without spaces, and the quoted string (RFC 8941) of draft-ietf-httpapi-idempotency-key-header.
 * The key of the quoted form is the text between the quotes.
 */
const BARE = /^[\x21\x23-\x7e][\x21-\x7e]*$/
const QUOTED = /^"((?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/

type ReadKey = { key: string } | { refused: Violation }

/** Parses the header Idempotency-Key. `text`: its value. */
function readKey(text: string): ReadKey {
  const quoted = QUOTED.exec(text)?.[1]
  const key = quoted === undefined ? text : quoted.replace(/\\(.)/g, '$1')
  if (key === '') return refused('Must not be empty.', 'missing')
  if (quoted === undefined && !BARE.test(text))
    return refused(
      'Must be printable ASCII without spaces, or in double quotes; best is a random UUID for each write.',
      'string_pattern_mismatch',
    )
  if (key.length > MAX_LENGTH) return refused(`Must have at most ${MAX_LENGTH} characters.`, 'string_too_long')
  return { key }
}

const refused = (msg: string, type: string) => ({ refused: { loc: ['header', 'Idempotency-Key'], msg, type } })

/** How a transport stores a verb's answer and restores it. `undefined`: the verb returns nothing. */
export interface AnswerCodec {
  encode(result: unknown): Entry
  decode(entry: Entry): unknown
}

export interface KeyedRequestOptions {
  /** the header's value */
  header: string
  /** the whole request as text; a different text under the same key is refused */
  request: string
  codec: AnswerCodec
  /** Whether a document has several writes, told apart by position. Default: one write. */
  numbered?: boolean
}

/** For an item of a bulk call: only its success is stored. */
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
  /** the outcome that replaces each verb; empty: the verb runs */
  readonly known: EarlyOutcome
  readonly #owner: CallerKey
  readonly #options: KeyedRequestOptions
  readonly #keyring: KeyRing
  readonly #release: () => void
  /** by position */
  readonly #entries: ReadonlyMap<string, StoredEntry>
  #write = 0
  /** positions requested so far; #repeated counts those answered from the store */
  readonly #requested = new Set<string>()
  #repeated = 0
  /** fingerprints that match this request */
  readonly #own = new Set<string>()
  #ended = false

  private constructor(ctx: ReadContext, options: KeyedRequestOptions, found: Found) {
    this.#keyring = ctx.keyring
    this.#options = options
    this.#owner = found.owner
    this.#entries = new Map(found.entries.map((entry) => [entry.position, entry]))
    this.#release = found.release
    this.known = found.known ?? (this.#areOthers(found.entries) ? { refused: [OTHER_REQUEST] } : {})
  }

  /** Takes the key and looks up its entries: one statement. Always call end() afterwards. */
  static async begin(ctx: WriteContext, options: KeyedRequestOptions): Promise<KeyedRequest> {
    const { keysInUse, query, actor, workspace } = ctx
    const read = readKey(options.header)
    const owner = { workspaceId: workspace.id, subject: actor.subject, key: 'key' in read ? read.key : '' }
    const none = { owner, entries: [], release: () => {} }
    if ('refused' in read) return new KeyedRequest(ctx, options, { ...none, known: { refused: [read.refused] } })
    const name = lockName(owner)
    if (keysInUse.has(name)) return new KeyedRequest(ctx, options, { ...none, known: { instead: inFlight() } })
    keysInUse.add(name)
    const release = () => keysInUse.delete(name)
    try {
      return new KeyedRequest(ctx, options, { owner, entries: await findEntries(query, owner), release })
    } catch (error) {
      release()
      throw error
    }
  }

  /** Whether every write was answered from the store. */
  get isRepeat(): boolean {
    const all = this.#options.numbered ? this.#write : 1
    const writes = new Set([...this.#requested].map((position) => position.split('/')[0]))
    return this.#repeated === this.#requested.size && writes.size === all
  }

  next(): void {
    this.#write++
  }

  guard(item?: number): Guard {
    const write = this.#options.numbered ? String(this.#write) : ''
    return item === undefined ? this.#guard(write, this.#options.codec) : this.#guard(`${write}/${item}`, EMPTY_ANSWER)
  }

  /** Frees the key for a repeat. Further calls do nothing. */
  end(): void {
    if (!this.#ended) this.#release()
    this.#ended = true
  }

  #areOthers(entries: readonly StoredEntry[]): boolean {
    // usually one fingerprint for all writes of a request
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
    const owner = this.#owner
    let kept: Entry | null = null
    let committed = false
    const entry = this.#entries.get(position)
    this.#requested.add(position)
    return {
      known: entry && !this.known.refused ? { instead: new Repeated(entry) } : this.known,
      open: async (query) => {
        if (committed) return
        kept = null
        const made = await lockEntries(query, owner, position)
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
        await insertEntry(query, owner, { ...outcome, position, requestHash: this.#fingerprint })
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

interface Found {
  owner: CallerKey
  entries: readonly StoredEntry[]
  known?: EarlyOutcome
  release: () => void
}
