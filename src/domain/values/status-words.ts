/** A revision's status as part of a sentence that starts with "revision 7". People never read the constants. */
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import { knownReason, type Reason } from './reasons.ts'

export const STATUS_WORDS: Record<RevisionStatus, string> = {
  CREATING: 'is being prepared',
  QUEUED: 'is queued',
  AWAITING_BUILD: 'waits for its build',
  BUILDING: 'is being built',
  AWAITING_DEPLOY: 'waits to be deployed',
  DEPLOYING: 'is being deployed',
  DEPLOYED: 'was deployed',
  CREATE_FAILED: 'could not be prepared',
  BUILD_FAILED: 'could not be built',
  DEPLOY_FAILED: 'could not be deployed',
  SKIPPED: 'was skipped',
  INTERRUPTED: 'was interrupted',
  UNKNOWN: 'is in an unknown state',
}

/** What an open revision says while nothing better is known. */
const DEFAULT_MESSAGES: Partial<Record<RevisionStatus, string>> = {
  CREATING: 'Preparing.',
  QUEUED: 'Waiting for its turn.',
  AWAITING_BUILD: 'Waiting to be built.',
  BUILDING: 'Building.',
  AWAITING_DEPLOY: 'Waiting to be deployed.',
  DEPLOYING: 'Deploying.',
}

/** What a revision says: no open one is without a message. */
export function currentMessageOf(revision: {
  status: RevisionStatus
  statusSince: Date
  reason: string | null
  reasonSince: Date | null
  statusMessage: string | null
}): { reason: Reason | null; reasonSince: Date | null; statusMessage: string | null } {
  const { status, statusSince, reasonSince, statusMessage } = revision
  const reason = knownReason(revision.reason, null)
  const underWay = DEFAULT_MESSAGES[status]
  if (statusMessage !== null || underWay === undefined) return { reason, reasonSince, statusMessage }
  return { reason: reason ?? 'IN_PROGRESS', reasonSince: reasonSince ?? statusSince, statusMessage: underWay }
}
