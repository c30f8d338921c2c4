/** Limits the concurrent streams, long polls and downloads of a workspace or organization on this server. */
import { DomainError } from '../errors/errors.ts'

export interface ConcurrencyLimit {
  /** maximum slots of one workspace or organization; 0: no limit */
  readonly limit: number
  /** maximum slots of one holder (a key or a person), so the rest stays for others */
  readonly share: number
  readonly inUse: number
  /**
   * Returns an idempotent function that releases the slot, or the exhausted limit: `server` (all workspaces),
   * `workspace`, or `holder` (a key or a person).
   */
  take(workspaceId: string, holder: string): (() => void) | 'server' | 'workspace' | 'holder'
}

export interface ConcurrencyLimits {
  streams: ConcurrencyLimit
  waits: ConcurrencyLimit
  /** of listeners; separate, so the keys of people cannot block them */
  listenerWaits: ConcurrencyLimit
  /** of builders, per organization; each buffers bytes until a client reads them */
  downloads: ConcurrencyLimit
}

/** `sharePercent`: percent of a workspace's slots per holder, at least one slot. `most`: slots of all workspaces. */
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

function count(counts: Map<string, number>, name: string, change: 1 | -1): void {
  const now = (counts.get(name) ?? 0) + change
  if (now > 0) counts.set(name, now)
  else counts.delete(name)
}

interface WaitingCall {
  slots?: ConcurrencyLimits
  workspace: { id: string; organizationId: string }
  actor: { subject: string }
  yieldTurn?: () => void
}

/** Slots are released one by one. */
const RETRY_AFTER_SECONDS = 5

const NAMES: Record<keyof ConcurrencyLimits, string> = {
  streams: 'concurrent streams',
  waits: 'concurrent waits',
  listenerWaits: 'concurrent listener waits',
  downloads: 'concurrent builder downloads',
}

const ownerOf = (kind: keyof ConcurrencyLimits) => (kind === 'downloads' ? 'organization' : 'workspace')

/** Takes a slot for a call that will wait. Null: no slot is free. In both cases the key's next call may start. */
export function tryTakeSlot(ctx: WaitingCall, kind: keyof ConcurrencyLimits): (() => void) | null {
  const taken = take(ctx, kind)
  return typeof taken === 'function' ? taken : null
}

/** Throws DomainError (RATE_LIMITED) if no slot is free. */
export function takeSlot(ctx: WaitingCall, kind: keyof ConcurrencyLimits): () => void {
  const taken = take(ctx, kind)
  if (typeof taken === 'function') return taken
  const { limit, share } = ctx.slots![kind]
  const why = {
    server: `This server has reached its limit of ${NAMES[kind]}.`,
    workspace: `This ${ownerOf(kind)} has reached its limit of ${limit} ${NAMES[kind]} on this server.`,
    holder: `This key has reached its share of ${share} ${NAMES[kind]} of the ${ownerOf(kind)} on this server.`,
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
