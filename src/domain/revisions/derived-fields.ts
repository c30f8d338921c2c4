/** The derived fields of a revision: their columns and functions. */
import type { EventActor } from '../values/event-types.ts'
import { currentMessageOf } from '../values/lifecycle.ts'
import { triggerOf } from '../values/revision-source.ts'
import { type RolloutTimes, rolloutStartedAt } from './step-history.ts'

const actorOf = (actor: unknown) => actor as EventActor | null

const SAID = { status: true, statusSince: true, reason: true, reasonSince: true, statusMessage: true } as const
type Said = Parameters<typeof currentMessageOf>[0]

export const REVISION_DERIVED_FIELDS = {
  trigger: {
    select: { trigger: true, number: true },
    derive: (row: { trigger: string | null; number: number }) => triggerOf(row),
  },
  createdByActor: {
    select: { createdActor: true },
    derive: ({ createdActor }: { createdActor: unknown }) => actorOf(createdActor),
  },
  rolloutAt: {
    select: { rolloutAt: true, attempt: true, createdAt: true },
    derive: (row: Pick<RolloutTimes, 'rolloutAt' | 'attempt' | 'createdAt'>) => rolloutStartedAt(row),
  },
  rolloutBy: {
    select: { rolloutActor: true },
    derive: ({ rolloutActor }: { rolloutActor: unknown }) => actorOf(rolloutActor),
  },
  isActive: {
    select: { id: true, deployment: { select: { activeRevisionId: true } } },
    derive: ({ id, deployment }: { id: string; deployment: { activeRevisionId: string | null } }) =>
      id === deployment.activeRevisionId,
  },
  statusMessage: { select: SAID, derive: (row: Said) => currentMessageOf(row).statusMessage },
  reason: { select: SAID, derive: (row: Said) => currentMessageOf(row).reason },
  reasonSince: { select: SAID, derive: (row: Said) => currentMessageOf(row).reasonSince },
} as const
