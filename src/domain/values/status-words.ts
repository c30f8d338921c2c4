/** A revision's status as the predicate of a sentence, such as "revision 7 is queued". */
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import { knownReason, type Reason } from './reasons.ts'

export const STATUS_WORDS: Record<RevisionStatus, string> = {
  CREATING: 'is being prepared',
  QUEUED: 'is queued',
  AWAITING_BUILD: 'is waiting for its build',
  BUILDING: 'is being built',
  AWAITING_DEPLOY: 'is waiting for its deploy',
  DEPLOYING: 'is being deployed',
  DEPLOYED: 'was deployed',
  CREATE_FAILED: 'could not be prepared',
  BUILD_FAILED: 'could not be built',
  DEPLOY_FAILED: 'could not be deployed',
  SKIPPED: 'was skipped',
  INTERRUPTED: 'was interrupted',
  UNKNOWN: 'is in an unknown state',
}

/** The message of an open revision that has none. */
const DEFAULT_MESSAGES: Partial<Record<RevisionStatus, string>> = {
  CREATING: 'Preparing.',
  QUEUED: 'The revision is queued.',
  AWAITING_BUILD: 'The build has not started yet.',
  BUILDING: 'Building.',
  AWAITING_DEPLOY: 'The deploy has not started yet.',
  DEPLOYING: 'Deploying.',
}

/** An open revision always has a message. */
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
