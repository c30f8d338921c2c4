/**
 * Does something with many deployments for their holders, in one transaction: a fixed number of statements, however many they
 * are. Whatever stands in the way of one of them (somebody has locked its row, a fault of its own) keeps no other from
 * what is due to it: it is done by itself, and only then it has failed.
 */

import { databaseFailure } from '../errors/database-error.ts'
import type { HeldClaim, Scope } from '../repositories/lease.ts'
import { type LockedDeployment, lockClaimed, lockFreeOfClaims } from '../repositories/locks.ts'
import { type Core, isBuilders, type Tx, transaction } from '../transaction/context.ts'
import { type ClaimState, readClaimStates, type StateRequest } from './claim-state.ts'

/** What is done with each. */
export interface ClaimWork<Item extends HeldClaim, Answer> {
  /** the holder is answered with its assignment: so it needs secrets, and nobody has to wake it for its news */
  assigns: boolean
  /** what of it has to be read, beside what always is */
  request?(item: Item): Omit<StateRequest, 'deployment'>
  /** Throws what forbids it: nothing is recorded yet. */
  check?(held: ClaimState, item: Item): void
  /** Records. Sends no statement. */
  record(tx: Tx, held: ClaimState, item: Item): Promise<Answer>
}

export type Outcome<Answer> = { answer: Answer } | { error: unknown }

/** In one transaction; more are done in several. */
const MAX_PER_TRANSACTION = 100

/** Outcomes in the order of the items. `over`: asked before each transaction; what is left then is not done, and undefined. */
export async function forEachClaim<Item extends HeldClaim, Answer>(
  core: Core,
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

/** Those that share a transaction: it waits for no row of a deployment. Undefined: it has to be done by itself. */
export async function inSharedTransaction<Item extends HeldClaim, Answer>(
  core: Core,
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
        // one of them is at fault, or what is another's is in its way: it is in one of the halves
        const half = Math.ceil(part.length / 2)
        await share(part.slice(0, half))
        await share(part.slice(half))
      }
    }
  }
  for (const part of partsOf(items)) await share(part)
  return items.map((item) => outcomes.get(item))
}

/** What is said twice of one claim is done one after the other. */
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
  core: Core,
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

/** Waits until whoever has locked it is done. */
export async function inOwnTransaction<Item extends HeldClaim, Answer>(
  core: Core,
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
  core: Core,
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
    const refused = 'error' in reading ? reading : refusal(work, reading.held, item)
    outcomes.set(item, refused ?? { answer: await work.record(own, (reading as { held: ClaimState }).held, item) })
  }
  return outcomes
}

function refusal<Item extends HeldClaim, Answer>(
  { check }: ClaimWork<Item, Answer>,
  held: ClaimState,
  item: Item,
): { error: unknown } | null {
  try {
    check?.(held, item)
    return null
  } catch (error) {
    return { error }
  }
}

/** For a call whose answer has the holder's news: nobody has to wake it. */
export const withoutHolderWakeups = (tx: Tx): Tx => ({
  ...tx,
  wakeWorkers: (whom) => isBuilders(whom) && tx.wakeWorkers(whom),
})

/** What it came to; throws the error. */
export function unwrap<Answer>(outcome: Outcome<Answer>): Answer {
  if ('error' in outcome) throw outcome.error
  return outcome.answer
}
