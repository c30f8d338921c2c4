/**
 * Caches answers per version of their workspace (docs/decisions/0029-response-cache.md). A version check precedes every
 * reuse, so a caller never gets an answer from before a write that it knows of. See README.md.
 */
import { LRUCache } from 'lru-cache'
import { isSameVersion, readCacheVersion, withoutLastSeen } from '../../domain/change-feed/version.ts'
import { type Actor, seesValues } from '../../domain/transaction/access.ts'
import type { ReadContext, RequestContext } from '../../domain/transaction/context.ts'

export interface FreshResponse<T> {
  value: T
  /** The reusable part and its size in memory. Called when the answer is cached. */
  toEntry(): { value: T; bytes: number }
  /** version of the snapshot that it was read from; null: unknown */
  version: string | null
  /** whether it contains the time of a listener's last call */
  showsLastSeen: boolean
  /** when it may change without a write, by the database's clock; null: never */
  expiresAt: Date | null
}

interface CachedResponse {
  /** null: requested once so far, nothing is cached */
  value: unknown
  version: string | null
  expiresAt: number | null
  /** offset of the context's clock to the monotonic clock, in ms */
  clockOffset: number
  /** whether the read also returned the version */
  returnsVersion: boolean
  /** consecutive requests that found a changed answer */
  changedInARow: number
}

/** If the clock moved by more than this since the read, `expiresAt` is not reliable. */
const MAX_CLOCK_SHIFT_MS = 1_000
/** After this many changed answers in a row the version check is skipped when the read returns the version anyway. */
const MAX_STALE_READS = 2

export class ResponseCache {
  readonly #entries: CacheEntries<CachedResponse> | null

  /** `bytes`: size of the cache; 0 disables it. */
  constructor(bytes: number) {
    this.#entries = bytes > 0 ? new CacheEntries(bytes) : null
  }

  /**
   * Returns the cached answer to `operation`, or else calls `read`. `operation` names everything that the answer depends on,
   * apart from caller and rows. `isSufficient`: whether the cached value is enough for this request. Errors are not cached.
   */
  async getOrRead<T>(
    ctx: ReadContext,
    operation: string,
    read: () => Promise<FreshResponse<T>>,
    isSufficient: (cached: T) => boolean = () => true,
  ): Promise<T> {
    const entries = this.#entries
    if (!entries) return (await read()).value
    const owner = ownerOf(ctx)
    const key = `${owner} ${operation}`
    const cached = entries.get(key)
    let seen: string | null = null
    if (cached && shouldCheckVersion(cached)) {
      seen = await readCacheVersion(ctx, ctx.workspace.id)
      if (
        cached.version !== null &&
        isSameVersion(cached.version, seen) &&
        isUnexpired(cached, ctx) &&
        isSufficient(cached.value as T)
      ) {
        cached.changedInARow = 0
        return cached.value as T
      }
    }
    const offset = clockOffsetOf(ctx)
    const { value, toEntry, version: readVersion, showsLastSeen, expiresAt } = await read()
    const at = readVersion ?? seen
    const version = at === null || showsLastSeen ? at : withoutLastSeen(at)
    const entry = cached !== undefined && version !== null ? toEntry() : null
    entries.set(
      key,
      owner,
      {
        value: entry?.value ?? null,
        version: entry && version,
        expiresAt: expiresAt?.getTime() ?? null,
        clockOffset: offset,
        returnsVersion: readVersion !== null,
        changedInARow: !cached || cached.version === null || cached.version === version ? 0 : cached.changedInARow + 1,
      },
      entry?.bytes ?? 0,
    )
    return value
  }
}

/**
 * A version check is useless if the read returns the version anyway and nothing is cached, or the answer changed each time.
 */
function shouldCheckVersion({ returnsVersion, version, changedInARow }: CachedResponse): boolean {
  return !returnsVersion || (version !== null && changedInARow < MAX_STALE_READS)
}

/** Owners by actor. The credential cache returns the same actor object for each call. */
const owners = new WeakMap<Actor, { workspace: RequestContext['workspace']; owner: string }>()

/** Identifies callers that may share an answer. A caller never gets an answer that was read for another one. */
function ownerOf({ workspace, actor }: ReadContext): string {
  const cached = owners.get(actor)
  if (cached?.workspace === workspace) return cached.owner
  const { kind, subject, role, listenerId, agentId } = actor
  const owner = `${workspace.id} ${workspace.plan} ${role} ${seesValues(actor)} ${kind} ${listenerId} ${agentId} ${JSON.stringify(subject)}`
  owners.set(actor, { workspace, owner })
  return owner
}

const clockOffsetOf = ({ clock }: ReadContext): number => clock().getTime() - performance.now()

function isUnexpired({ expiresAt, clockOffset }: CachedResponse, ctx: ReadContext): boolean {
  if (Math.abs(clockOffsetOf(ctx) - clockOffset) > MAX_CLOCK_SHIFT_MS) return false
  return expiresAt === null || ctx.clock().getTime() < expiresAt
}

/** Approximate bookkeeping size of an entry. */
const ENTRY_OVERHEAD_BYTES = 300
/** One owner gets 1/4 of the cache at most, so that it can't evict all entries of others. */
const OWNER_FRACTION = 4
/** One entry gets 1/16 of the cache at most. */
const ENTRY_FRACTION = 16

interface Entry<V> {
  value: V
  owner: string
  size: number
}

interface Owner {
  bytes: number
  /** keys of the owner's entries, least recently used first */
  keys: Set<string>
}

/** Least recently used cache entries, bounded in bytes in total and per owner. */
export class CacheEntries<V extends object> {
  readonly #maxBytes: number
  readonly #owners = new Map<string, Owner>()
  readonly #entries: LRUCache<string, Entry<V>>

  constructor(bytes: number) {
    this.#maxBytes = bytes
    this.#entries = new LRUCache({
      maxSize: Math.max(bytes, 1),
      sizeCalculation: ({ size }) => size,
      dispose: (entry, key) => this.#removeFromOwner(key, entry),
    })
  }

  get size(): number {
    return this.#entries.calculatedSize
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    const { keys } = this.#owners.get(entry.owner)!
    keys.delete(key)
    keys.add(key)
    return entry.value
  }

  /** `bytes`: size of the value. Replaces the key's entry. A value that is too large is not cached. */
  set(key: string, owner: string, value: V, bytes: number): void {
    this.#entries.delete(key)
    const size = bytes + 2 * key.length + ENTRY_OVERHEAD_BYTES
    if (size > this.#maxBytes / ENTRY_FRACTION) return
    let state = this.#owners.get(owner)
    for (const oldest of state?.keys ?? []) {
      if (state!.bytes + size <= this.#maxBytes / OWNER_FRACTION) break
      this.#entries.delete(oldest)
    }
    // deleting an owner's last entry also deletes the owner
    state = this.#owners.get(owner)
    if (!state) {
      state = { bytes: 0, keys: new Set() }
      this.#owners.set(owner, state)
    }
    state.bytes += size
    state.keys.add(key)
    this.#entries.set(key, { value, owner, size })
  }

  #removeFromOwner(key: string, { owner, size }: Entry<V>): void {
    const state = this.#owners.get(owner)!
    state.bytes -= size
    state.keys.delete(key)
    if (state.keys.size === 0) this.#owners.delete(owner)
  }
}
