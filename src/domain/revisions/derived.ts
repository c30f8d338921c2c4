/** The fields of a revision that are derived from its row: from which columns, and how. */
import type { EventActor } from '../model/event-actor.ts'
import { knownReason } from '../model/reasons.ts'
import { triggerOf } from '../model/trigger.ts'
import { rolloutAtOf, type Timed } from './steps.ts'

/** Whoever did something, as it is stored with a revision. */
const actorOf = (actor: unknown) => actor as EventActor | null

export const REVISION_DERIVED = {
  trigger: {
    select: { trigger: true, number: true },
    of: (row: { trigger: string | null; number: number }) => triggerOf(row),
  },
  createdByActor: {
    select: { createdActor: true },
    of: ({ createdActor }: { createdActor: unknown }) => actorOf(createdActor),
  },
  rolloutAt: {
    select: { rolloutAt: true, attempt: true, createdAt: true },
    of: (row: Pick<Timed, 'rolloutAt' | 'attempt' | 'createdAt'>) => rolloutAtOf(row),
  },
  rolloutBy: {
    select: { rolloutActor: true },
    of: ({ rolloutActor }: { rolloutActor: unknown }) => actorOf(rolloutActor),
  },
  isActive: {
    select: { id: true, deployment: { select: { activeRevisionId: true } } },
    of: ({ id, deployment }: { id: string; deployment: { activeRevisionId: string | null } }) =>
      id === deployment.activeRevisionId,
  },
  reason: {
    select: { reason: true },
    of: ({ reason }: { reason: string | null }) => knownReason(reason, null),
  },
} as const
