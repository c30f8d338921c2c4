/**
 * Answers that are given again while nothing has changed (docs/decisions/0029-response-cache.md). An answer is kept when the same is
 * asked for a second time, with the version of the workspace that it was read at, or one that was read before it. Asked for again, a
 * look at the version tells whether it is still right; so nobody is ever shown what was so before a write that he knows of.
 */

import { isSameVersion, readShownVersion, withoutHeard } from '../../domain/cache-version/version.ts'
import { type Actor, seesValues } from '../../domain/transaction/access.ts'
import type { RequestContext } from '../../domain/transaction/context.ts'
import { KeptAnswers } from './cache-entries.ts'

/** An answer that was made just now. */
export interface Made<T> {
  value: T
  /** What of it may be given again, and how much memory that takes. Called when it is kept. */
  keep(): { value: T; bytes: number }
  /** that it was read at, in one snapshot; null: that is not known */
  version: string | null
  /** it shows when a listener was last heard */
  showsHeard: boolean
  /** from then on time alone may have changed it, by the database's clock; null: never */
  holdsUntil: Date | null
}

interface Known {
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
const CLOCK_WAS_SET = 1_000
/** What had changed so often in a row is not looked after before it is read again, where reading it tells, too. */
const CHANGES_ALWAYS = 2

export class Reuse {
  readonly #kept: KeptAnswers<Known> | null

  /** `bytes`: what may be kept; 0: nothing, then every answer is made anew. */
  constructor(bytes: number) {
    this.#kept = bytes > 0 ? new KeptAnswers(bytes) : null
  }

  /**
   * What `make` answers to `call`, which says all that the answer depends on beside the caller and the rows. `fits`: whether what was
   * kept is enough this time. What `make` throws is not kept.
   */
  async answer<T>(
    ctx: RequestContext,
    call: string,
    make: () => Promise<Made<T>>,
    fits: (kept: T) => boolean = () => true,
  ): Promise<T> {
    const kept = this.#kept
    if (!kept) return (await make()).value
    const owner = ownerOf(ctx)
    const key = `${owner} ${call}`
    const known = kept.get(key)
    let seen: string | null = null
    if (known && isWorthALook(known)) {
      seen = await readShownVersion(ctx, ctx.workspace.id)
      if (known.version !== null && isSameVersion(known.version, seen) && holds(known, ctx) && fits(known.value as T)) {
        known.changed = 0
        return known.value as T
      }
    }
    const clock = clockOf(ctx)
    const { value, keep, version: own, showsHeard, holdsUntil } = await make()
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
function isWorthALook({ ownVersion, version, changed }: Known): boolean {
  return !ownVersion || (version !== null && changed < CHANGES_ALWAYS)
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

const clockOf = ({ clock }: RequestContext): number => clock().getTime() - performance.now()

function holds({ holdsUntil, clock }: Known, ctx: RequestContext): boolean {
  if (Math.abs(clockOf(ctx) - clock) > CLOCK_WAS_SET) return false
  return holdsUntil === null || ctx.clock().getTime() < holdsUntil
}
