/** The fields of a revision that are derived from its row: from which columns, and how. */
import { knownReason } from '../model/reasons.ts'

export const REVISION_DERIVED = {
  reason: {
    select: { reason: true },
    of: ({ reason }: { reason: string | null }) => knownReason(reason, null),
  },
} as const
