/** Runs work for many claims in one transaction with a fixed number of statements (README.md). */
import { databaseFailure } from '../errors/database-error.ts'
import type { HeldClaim, Scope } from '../repositories/lease.ts'
import { type LockedDeployment, lockClaimed, lockFreeOfClaims } from '../repositories/locks.ts'
import { isBuilders, type ReadCore, type Tx, transaction, type WriteCore } from '../transaction/context.ts'
import { type ClaimState, readClaimStates, type StateRequest } from './claim-state.ts'

export interface ClaimWork<Item extends HeldClaim, Answer> {
  /** the answer contains the assignment: secrets are read, and the holder is not woken */
  assigns: boolean
  /** what to read in addition to the usual state */
  request?(item: Item): Omit<StateRequest, 'deployment'>
  /** Throws if the request is invalid. Runs before anything is recorded. */
  check?(claimState: ClaimState, item: Item): void
  /** Records changes in the unit of work. Sends no statement. */
  record(tx: Tx, claimState: ClaimState, item: Item): Promise<Answer>
}

export type Outcome<Answer> = { answer: Answer } | { error: unknown }

const MAX_PER_TRANSACTION = 100

/**
 * Returns outcomes in the order of the items. Checks `over` before each transaction; once it is true, the remaining
 * outcomes stay undefined.
 */
export async function forEachClaim<Item extends HeldClaim, Answer>(
  core: WriteCore,
  scope: Scope,
  items: readonly Item[],
  work: ClaimWork<Item, Answer>,
  over: () => boolean = () => false,
): Promise<(Outcome<Answer> | undefined)[]> {
  const outcomes = items.length > 1 ? [...(await inSharedTransaction(core, scope, items, work, over))] : [undefined]
  for (const [i, item] of items.entries()) {
    if (over()) break
    outcomes[i] ??= await inOwnTransaction(core, scope, item, work)
  }
  return outcomes
}

/** Runs claims together, without waiting for row locks. Undefined: the claim must run alone. */
export async function inSharedTransaction<Item extends HeldClaim, Answer>(
  core: WriteCore,
  scope: Scope,
  items: readonly Item[],
  work: ClaimWork<Item, Answer>,
  over: () => boolean = () => false,
): Promise<(Outcome<Answer> | undefined)[]> {
  const outcomes = new Map<Item, Outcome<Answer>>()
  const share = async (part: readonly Item[]): Promise<void> => {
    if (over()) return
    try {
      for (const [item, outcome] of await transaction(core, (tx) => recordUnlocked(core, tx, scope, part, work)))
        outcomes.set(item, outcome)
    } catch (error) {
      if (databaseFailure(error) === 'lost') {
        for (const item of part) outcomes.set(item, { error })
      } else if (part.length > 1) {
        // one item failed or is locked: halving isolates it
        const half = Math.ceil(part.length / 2)
        await share(part.slice(0, half))
        await share(part.slice(half))
      }
    }
  }
  for (const part of partsOf(items)) await share(part)
  return items.map((item) => outcomes.get(item))
}

/** Splits the items into transactions. A claim occurs at most once in each. */
function partsOf<Item extends HeldClaim>(items: readonly Item[]): Item[][] {
  const parts: { claimIds: Set<string>; items: Item[] }[] = []
  for (const item of items) {
    const part = parts.find(({ claimIds }) => claimIds.size < MAX_PER_TRANSACTION && !claimIds.has(item.claimId))
    if (part) part.items.push(item)
    else parts.push({ claimIds: new Set(), items: [item] })
    ;(part ?? parts.at(-1)!).claimIds.add(item.claimId)
  }
  return parts.map((part) => part.items)
}

async function recordUnlocked<Item extends HeldClaim, Answer>(
  core: ReadCore,
  tx: Tx,
  scope: Scope,
  items: readonly Item[],
  work: ClaimWork<Item, Answer>,
): Promise<Map<Item, Outcome<Answer>>> {
  const locked = await lockFreeOfClaims(tx, scope, items)
  const free = items.flatMap((item) => {
    const deployment = locked.get(item.claimId)
    return deployment ? { item, deployment } : []
  })
  return recordAll(core, tx, free, work)
}

/** Waits for the row lock, unlike inSharedTransaction(). */
export async function inOwnTransaction<Item extends HeldClaim, Answer>(
  core: WriteCore,
  scope: Scope,
  item: Item,
  work: ClaimWork<Item, Answer>,
): Promise<Outcome<Answer>> {
  try {
    const done = await transaction(core, async (tx) =>
      recordAll(core, tx, [{ item, deployment: await lockClaimed(tx, scope, item) }], work),
    )
    return done.get(item)!
  } catch (error) {
    return { error }
  }
}

async function recordAll<Item extends HeldClaim, Answer>(
  core: ReadCore,
  tx: Tx,
  locked: readonly { item: Item; deployment: LockedDeployment }[],
  work: ClaimWork<Item, Answer>,
): Promise<Map<Item, Outcome<Answer>>> {
  const outcomes = new Map<Item, Outcome<Answer>>()
  if (locked.length === 0) return outcomes
  const readings = await readClaimStates(
    tx,
    work.assigns ? core.keyring : null,
    locked.map(({ item, deployment }) => ({ deployment, ...work.request?.(item) })),
  )
  const own: Tx = work.assigns ? withoutHolderWakeups(tx) : tx
  for (const { item, deployment } of locked) {
    const reading = readings.get(deployment.id)!
    const refused = 'error' in reading ? reading : refusal(work, reading.state, item)
    outcomes.set(item, refused ?? { answer: await work.record(own, (reading as { state: ClaimState }).state, item) })
  }
  return outcomes
}

function refusal<Item extends HeldClaim, Answer>(
  { check }: ClaimWork<Item, Answer>,
  claimState: ClaimState,
  item: Item,
): { error: unknown } | null {
  try {
    check?.(claimState, item)
    return null
  } catch (error) {
    return { error }
  }
}

/** A transaction that wakes no holder, because the call's answer already has the news. */
export const withoutHolderWakeups = (tx: Tx): Tx => ({
  ...tx,
  wakeWorkers: (whom) => isBuilders(whom) && tx.wakeWorkers(whom),
})

export function unwrap<Answer>(outcome: Outcome<Answer>): Answer {
  if ('error' in outcome) throw outcome.error
  return outcome.answer
}
