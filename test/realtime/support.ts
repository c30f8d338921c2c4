/** Helpers for tests of streams: reading from them, and writing changes. */
import { randomUUID } from 'node:crypto'
import type { Ending } from '../../src/api/realtime/frames.ts'
import type { Stream } from '../../src/api/realtime/stream.ts'
import { createDeployment } from '../../src/domain/deployments/create.ts'
import { eventCursor } from '../../src/domain/events/range.ts'
import { lockDeployment } from '../../src/domain/repositories/locks.ts'
import { transition } from '../../src/domain/revisions/transition.ts'
import type { Core, RequestContext } from '../../src/domain/transaction/context.ts'
import { transaction } from '../../src/domain/transaction/context.ts'
import type { RevisionStatus } from '../../src/generated/prisma/enums.ts'

/** Opens the stream and reads its values one by one. `capacity`: number of unread values from which the reader is slow. */
export function iterate<T>(stream: Stream<T>, capacity = 1_000): Required<AsyncIterator<T, undefined>> {
  const values: T[] = []
  let ending: Ending | null = null
  let leave = () => {}
  const changed: (() => void)[] = []
  const wake = () => {
    for (const one of changed.splice(0)) one()
  }
  const change = () => new Promise<void>((resolve) => changed.push(resolve))
  stream.open(
    { key: 'values', render: async (all) => all.map(() => '') },
    {
      get full() {
        return values.length >= capacity
      },
      send({ frames }) {
        values.push(...frames.map(({ value }) => value as T))
        wake()
      },
      async drained() {
        while (values.length >= capacity && ending === null) await change()
      },
      end(how) {
        ending ??= how
        wake()
      },
      onGone(how) {
        leave = how
      },
    },
  )
  const done = { done: true, value: undefined } as const
  return {
    async next() {
      while (values.length === 0 && ending === null) await change()
      if (values.length > 0) {
        const value = values.shift()!
        wake()
        return { done: false, value }
      }
      const how = ending!
      ending = { complete: true }
      if ('error' in how) throw how.error
      return done
    },
    async return() {
      values.length = 0
      ending = { complete: true }
      wake()
      leave()
      return done
    },
    async throw(error) {
      throw error
    },
  }
}

/** Reads the next `count` elements, or fewer if the stream ends before. */
export async function take<T>(stream: AsyncIterator<T>, count: number): Promise<T[]> {
  const taken: T[] = []
  while (taken.length < count) {
    const { done, value } = await stream.next()
    if (done) break
    taken.push(value)
  }
  return taken
}

/** Reads until `last` returns true; that element is included. */
export async function takeUntil<T>(stream: AsyncIterator<T>, last: (value: T) => boolean): Promise<T[]> {
  const taken: T[] = []
  for (;;) {
    const { done, value } = await stream.next()
    if (done) return taken
    taken.push(value)
    if (last(value)) return taken
  }
}

/** Resolves when `condition` holds; the test's own time limit is the limit. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** A deployment of an image whose first revision waits for provisioning. */
export async function imageDeployment(ctx: RequestContext): Promise<{ deploymentId: string; revisionId: string }> {
  const { deploymentId } = await createDeployment(ctx, {
    body: {
      name: `app-${randomUUID()}`,
      source: 'external_container',
      source_config: {},
      source_revision_config: { image_uri: 'registry.example.com/agent:1' },
      secrets: [],
    },
  })
  const { latestRevisionId } = await ctx.db.deployment.findUniqueOrThrow({ where: { id: deploymentId } })
  return { deploymentId, revisionId: latestRevisionId! }
}

/** Moves it from provisioned to deployed. */
export const ROLLOUT = ['QUEUED', 'AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOYED'] as const satisfies RevisionStatus[]

/** Moves a revision, one transaction per status; a move out of a terminal status is a redeploy. */
export async function move(ctx: RequestContext, revisionId: string, statuses: readonly RevisionStatus[]) {
  for (const to of statuses) {
    const { deploymentId } = await ctx.db.revision.findUniqueOrThrow({ where: { id: revisionId } })
    await lockDeployment(ctx, deploymentId, async (tx, { rollout }) => {
      const revision = await tx.sql.revision.findUniqueOrThrow({ where: { id: revisionId } })
      const again = { rollout: rollout + 1, traceparent: null, resourceSpec: null, secretReferences: null }
      transition(tx, ctx.workspace.id, revision, { to, ...(revision.status === 'DEPLOYED' && { again }) })
    })
  }
}

/** Appends `count` status changes of invented revisions in one transaction; `message` tells them apart. */
export function announce(core: Core, workspaceId: string, messages: readonly string[]): Promise<void> {
  return transaction(core, async (tx) => {
    for (const message of messages)
      tx.emit({
        workspaceId,
        type: 'revision.status',
        deploymentId: randomUUID(),
        revisionId: randomUUID(),
        from: 'BUILDING',
        to: 'AWAITING_DEPLOY',
        message,
        attempt: 1,
      })
  })
}

/** The current end of the workspace's log as a cursor. */
export async function endOfLog(ctx: RequestContext): Promise<string> {
  const workspaceId = ctx.workspace.id
  const { sequence } = await ctx.db.eventCounter.findUniqueOrThrow({ where: { workspaceId } })
  return eventCursor({ workspaceId, sequence })
}

/** The cursors of all status events in the workspace's log, in order. */
export async function loggedCursors(ctx: RequestContext, where: { deploymentId?: string } = {}): Promise<string[]> {
  const events = await ctx.db.event.findMany({
    where: { workspaceId: ctx.workspace.id, type: 'revision.status', ...where },
    orderBy: { sequence: 'asc' },
  })
  return events.map(eventCursor)
}
