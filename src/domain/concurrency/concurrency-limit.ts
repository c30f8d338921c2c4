/** Limits the concurrent streams, long polls and downloads of a workspace or organization on this server. */
import { DomainError } from '../errors/errors.ts'

/** The slots of one kind, first come, first served. */
export interface ConcurrencyLimit {
  /** slots of one workspace, or organization; 0: no limit */
  readonly limit: number
  /** slots of it that one holder may have: the rest is there for others */
  readonly share: number
  /** slots in use now, by all workspaces */
  readonly inUse: number
  /**
   * Returns a function that releases the slot (idempotent); or why there is none: all of the server's are taken, the workspace has
   * all of its own, or the holder (a key, a person) all of its share.
   */
  take(workspaceId: string, holder: string): (() => void) | 'server' | 'workspace' | 'holder'
}

export interface ConcurrencyLimits {
  streams: ConcurrencyLimit
  waits: ConcurrencyLimit
  /** of listeners, counted apart, so that the keys of people can't keep them from waiting */
  listenerWaits: ConcurrencyLimit
  /** of builders, by organization: each is bytes that are held until somebody reads them */
  downloads: ConcurrencyLimit
}

/** `sharePercent`: of the slots of a workspace, that one holder may have; at least one. `most`: of all together. */
export function createConcurrencyLimit(
  limit: number,
  sharePercent = 100,
  most = Number.POSITIVE_INFINITY,
): ConcurrencyLimit {
  const share = Math.ceil((limit * sharePercent) / 100)
  const perWorkspace = new Map<string, number>()
  const perHolder = new Map<string, number>()
  let inUse = 0
  return {
    limit,
    share,
    get inUse() {
      return inUse
    },
    take(workspaceId, holder) {
      const held = `${workspaceId} ${holder}`
      if (inUse >= most) return 'server'
      if (limit > 0 && (perWorkspace.get(workspaceId) ?? 0) >= limit) return 'workspace'
      if (limit > 0 && (perHolder.get(held) ?? 0) >= share) return 'holder'
      count(perWorkspace, workspaceId, 1)
      count(perHolder, held, 1)
      inUse++
      let released = false
      return () => {
        if (released) return
        released = true
        inUse--
        count(perWorkspace, workspaceId, -1)
        count(perHolder, held, -1)
      }
    },
  }
}

function count(of: Map<string, number>, name: string, change: 1 | -1): void {
  const now = (of.get(name) ?? 0) + change
  if (now > 0) of.set(name, now)
  else of.delete(name)
}

/** The part of a RequestContext that is needed here. */
interface WaitingCall {
  slots?: ConcurrencyLimits
  workspace: { id: string; organizationId: string }
  actor: { subject: string }
  yieldTurn?: () => void
}

/** seconds: slots become free one by one */
const RETRY_AFTER_SECONDS = 5

const NAMES: Record<keyof ConcurrencyLimits, string> = {
  streams: 'streams',
  waits: 'waits',
  listenerWaits: 'waits of listeners',
  downloads: 'downloads of builders',
}

/** Whose slots they are. */
const ownerOf = (kind: keyof ConcurrencyLimits) => (kind === 'downloads' ? 'organization' : 'workspace')

/** For a call that is about to wait; null: no slot is free. In any case the key's next call may be worked on now. */
export function tryTakeSlot(ctx: WaitingCall, kind: keyof ConcurrencyLimits): (() => void) | null {
  const taken = take(ctx, kind)
  return typeof taken === 'function' ? taken : null
}

/** The same; throws DomainError (RATE_LIMITED) if no slot is free. */
export function takeSlot(ctx: WaitingCall, kind: keyof ConcurrencyLimits): () => void {
  const taken = take(ctx, kind)
  if (typeof taken === 'function') return taken
  const { limit, share } = ctx.slots![kind]
  const why = {
    server: `This server has all the ${NAMES[kind]} that it may have at once.`,
    workspace: `This ${ownerOf(kind)} has all the ${NAMES[kind]} that it may have on this server at once (${limit}).`,
    holder: `This key has all of the ${ownerOf(kind)}'s ${NAMES[kind]} that one may have on this server at once (${share}).`,
  }[taken]
  throw new DomainError('RATE_LIMITED', `${why} End some of them, or try again later.`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
}

function take(ctx: WaitingCall, kind: keyof ConcurrencyLimits): ReturnType<ConcurrencyLimit['take']> {
  ctx.yieldTurn?.()
  const { id, organizationId } = ctx.workspace
  const whose = ownerOf(kind) === 'organization' ? organizationId : id
  return ctx.slots ? ctx.slots[kind].take(whose, ctx.actor.subject) : () => {}
}
