/** Maps the status of a revision to a commit status at the git provider. Pure. */
import type { RevisionStatus } from '../../../generated/prisma/enums.ts'
import type { NewCommitStatus } from '../../ports/git-provider.ts'

/** limit of the provider */
const MAX_DESCRIPTION_LENGTH = 140

/** status → [state, description for revisions without a message] */
const STATES: Record<RevisionStatus, [NewCommitStatus['state'], string]> = {
  CREATING: ['pending', 'Preparing the deployment'],
  QUEUED: ['pending', 'Waiting for its turn'],
  AWAITING_BUILD: ['pending', 'Waiting for a worker to build it'],
  BUILDING: ['pending', 'Building'],
  AWAITING_DEPLOY: ['pending', 'Built, waiting for a worker to deploy it'],
  DEPLOYING: ['pending', 'Deploying'],
  DEPLOYED: ['success', 'Deployed'],
  CREATE_FAILED: ['failure', 'Preparing failed'],
  BUILD_FAILED: ['failure', 'The build failed'],
  DEPLOY_FAILED: ['failure', 'The deploy failed'],
  // not the commit's fault, but the commit does not run
  SKIPPED: ['error', 'Skipped: a newer revision took its place'],
  INTERRUPTED: ['error', 'Interrupted'],
  UNKNOWN: ['error', 'Its state is unknown'],
}

export interface RevisionToReport {
  id: string
  status: RevisionStatus
  statusMessage: string | null
  deployment: { id: string; name: string; customUrl: string | null }
}

/** `publicUrl`: of this server, without a trailing slash. */
export function commitStatus({ id, status, statusMessage, deployment }: RevisionToReport, publicUrl: string) {
  const [state, description] = STATES[status]
  const revisionUrl = `${publicUrl}/v2/deployments/${deployment.id}/revisions/${id}`
  return {
    state,
    context: `pilothouse/${deployment.name}`,
    description: shorten(statusMessage ?? description),
    targetUrl: (state === 'success' && deployment.customUrl) || revisionUrl,
  } satisfies NewCommitStatus
}

/** Returns the first line, because the others are output, cut to the limit. */
function shorten(message: string): string {
  const line = message.trim().split('\n')[0]!.trim()
  // without half of a surrogate pair
  return line.length <= MAX_DESCRIPTION_LENGTH
    ? line
    : `${line.slice(0, MAX_DESCRIPTION_LENGTH - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
