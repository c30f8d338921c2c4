/** What a revision's status is in a sentence: goes on from "revision 7". People never read the constants. */
import type { RevisionStatus } from '../../generated/prisma/enums.ts'

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
