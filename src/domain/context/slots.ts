/** Limits how many streams and long polls a workspace may have at once on this server: each takes a slot while it lasts. */
import { DomainError } from '../core/errors.ts'

/** The slots of one kind, first come, first served. */
export interface SlotPool {
  /** slots of one workspace; 0: no limit */
  readonly limit: number
  /** slots in use now, by all workspaces */
  readonly inUse: number
  /** Returns a function that releases the slot (idempotent), or null if none is free. */
  take(workspaceId: string): (() => void) | null
}

export interface SlotPools {
  streams: SlotPool
  waits: SlotPool
  /** of listeners, counted apart, so that the keys of people can't keep them from waiting */
  listenerWaits: SlotPool
}

export function createSlotPool(limit: number): SlotPool {
  const perWorkspace = new Map<string, number>()
  let inUse = 0
  return {
    limit,
    get inUse() {
      return inUse
    },
    take(workspaceId) {
      const before = perWorkspace.get(workspaceId) ?? 0
      if (limit > 0 && before >= limit) return null
      perWorkspace.set(workspaceId, before + 1)
      inUse++
      let released = false
      return () => {
        if (released) return
        released = true
        inUse--
        const now = perWorkspace.get(workspaceId)! - 1
        if (now > 0) perWorkspace.set(workspaceId, now)
        else perWorkspace.delete(workspaceId)
      }
    },
  }
}

/** The part of a RequestContext that is needed here. */
interface WaitingCall {
  slots?: SlotPools
  workspace: { id: string }
  yieldTurn?: () => void
}

/** seconds: slots become free one by one */
const RETRY_AFTER = 5

const NAMES: Record<keyof SlotPools, string> = {
  streams: 'streams',
  waits: 'waits',
  listenerWaits: 'waits of listeners',
}

/** For a call that is about to wait; null: no slot is free. In any case the key's next call may be worked on now. */
export function tryTakeSlot(ctx: WaitingCall, kind: keyof SlotPools): (() => void) | null {
  ctx.yieldTurn?.()
  return ctx.slots ? ctx.slots[kind].take(ctx.workspace.id) : () => {}
}

/** The same; throws DomainError (RATE_LIMITED) if no slot is free. */
export function takeSlot(ctx: WaitingCall, kind: keyof SlotPools): () => void {
  const release = tryTakeSlot(ctx, kind)
  if (release) return release
  throw new DomainError(
    'RATE_LIMITED',
    `This workspace has all the ${NAMES[kind]} that it may have on this server at once (${ctx.slots?.[kind].limit}). End some of them, or try again later.`,
    { retryAfterSeconds: RETRY_AFTER },
  )
}
