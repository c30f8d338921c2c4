/**
 * Answers that are given again while nothing has changed (docs/decisions/0029-response-cache.md). An answer is kept when the same is
 * asked for a second time, with the version of the workspace that it was read at, or one that was read before it. Asked for again, a
 * look at the version tells whether it is still right; so nobody is ever shown what was so before a write that he knows of.
 */

import { isSameVersion, readShownVersion, withoutHeard } from '../../domain/cache-version/version.ts'
import { type Actor, seesValues } from '../../domain/transaction/access.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import { CacheEntries } from './cache-entries.ts'

/** An answer that was made just now. */
export interface FreshResponse<T> {
  value: T
  /** What of it may be given again, and how much memory that takes. Called when it is kept. */
  toEntry(): { value: T; bytes: number }
  /** that it was read at, in one snapshot; null: that is not known */
  version: string | null
  /** it shows when a listener was last heard */
  showsLastSeen: boolean
  /** from then on time alone may have changed it, by the database's clock; null: never */
  expiresAt: Date | null
}

interface CachedResponse {
  /** null: it was asked for once, and nothing is kept */
  value: unknown
  version: string | null
  holdsUntil: number | null
  /** how far the clock was ahead of one that nobody sets, in ms */
  clock: number
  /** whether it brought its version along */
  ownVersion: boolean
  /** how often in a row it had changed when it was asked for again */
  changed: number
}

/** ms. When the clock was set in the meantime, what was derived from it does not count. */
const MAX_CLOCK_SHIFT_MS = 1_000
/** What had changed so often in a row is not looked after before it is read again, where reading it tells, too. */
const MAX_STALE_READS = 2

export class ResponseCache {
  readonly #entries: CacheEntries<CachedResponse> | null

  /** `bytes`: what may be kept; 0: nothing, then every answer is made anew. */
  constructor(bytes: number) {
    this.#entries = bytes > 0 ? new CacheEntries(bytes) : null
  }

  /**
   * What `make` answers to `call`, which says all that the answer depends on beside the caller and the rows. `fits`: whether what was
   * kept is enough this time. What `make` throws is not kept.
   */
  async getOrRead<T>(
    ctx: RequestContext,
    operation: string,
    read: () => Promise<FreshResponse<T>>,
    isSufficient: (kept: T) => boolean = () => true,
  ): Promise<T> {
    const kept = this.#entries
    if (!kept) return (await read()).value
    const owner = ownerOf(ctx)
    const key = `${owner} ${operation}`
    const known = kept.get(key)
    let seen: string | null = null
    if (known && shouldCheckVersion(known)) {
      seen = await readShownVersion(ctx, ctx.workspace.id)
      if (
        known.version !== null &&
        isSameVersion(known.version, seen) &&
        isUnexpired(known, ctx) &&
        isSufficient(known.value as T)
      ) {
        known.changed = 0
        return known.value as T
      }
    }
    const clock = clockOffset(ctx)
    const { value, toEntry: keep, version: own, showsLastSeen: showsHeard, expiresAt: holdsUntil } = await read()
    const at = own ?? seen
    const version = at === null || showsHeard ? at : withoutHeard(at)
    const given = known !== undefined && version !== null ? keep() : null
    kept.set(
      key,
      owner,
      {
        value: given?.value ?? null,
        version: given && version,
        holdsUntil: holdsUntil?.getTime() ?? null,
        clock,
        ownVersion: own !== null,
        changed: !known || known.version === null || known.version === version ? 0 : known.changed + 1,
      },
      given?.bytes ?? 0,
    )
    return value
  }
}

/** Where reading it anew tells the version, too, a look is for nothing if there is nothing to give again, or it has always changed. */
function shouldCheckVersion({ ownVersion, version, changed }: CachedResponse): boolean {
  return !ownVersion || (version !== null && changed < MAX_STALE_READS)
}

/** Of callers: they are the same objects for as long as their keys are known. */
const owners = new WeakMap<Actor, { workspace: RequestContext['workspace']; owner: string }>()

/** Whose answers may differ though all else is the same: nobody is ever answered with what somebody else has asked for. */
function ownerOf({ workspace, actor }: RequestContext): string {
  const known = owners.get(actor)
  if (known?.workspace === workspace) return known.owner
  const { kind, subject, role, listenerId, agentId } = actor
  const owner = `${workspace.id} ${workspace.plan} ${role} ${seesValues(actor)} ${kind} ${listenerId} ${agentId} ${JSON.stringify(subject)}`
  owners.set(actor, { workspace, owner })
  return owner
}

const clockOffset = ({ clock }: RequestContext): number => clock().getTime() - performance.now()

function isUnexpired({ holdsUntil, clock }: CachedResponse, ctx: RequestContext): boolean {
  if (Math.abs(clockOffset(ctx) - clock) > MAX_CLOCK_SHIFT_MS) return false
  return holdsUntil === null || ctx.clock().getTime() < holdsUntil
}
