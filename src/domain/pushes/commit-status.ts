/** What the commit of a revision is told about it. Pure. */
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import type { NewCommitStatus } from '../integrations/provider.ts'

/** characters that the provider takes */
const LONGEST = 140

/** status → [state, words for when the revision has no message of its own] */
const TOLD: Record<RevisionStatus, [NewCommitStatus['state'], string]> = {
  CREATING: ['pending', 'Waiting for the deployment to be provisioned'],
  QUEUED: ['pending', 'Waiting for its turn'],
  AWAITING_BUILD: ['pending', 'Waiting for a worker to build it'],
  BUILDING: ['pending', 'Building'],
  AWAITING_DEPLOY: ['pending', 'Built, waiting for a worker to deploy it'],
  DEPLOYING: ['pending', 'Deploying'],
  DEPLOYED: ['success', 'Deployed'],
  CREATE_FAILED: ['failure', 'Provisioning failed'],
  BUILD_FAILED: ['failure', 'The build failed'],
  DEPLOY_FAILED: ['failure', 'The deploy failed'],
  // nothing is wrong with the commit, but it does not run either
  SKIPPED: ['error', 'Skipped: a newer revision took its place'],
  INTERRUPTED: ['error', 'Interrupted'],
  UNKNOWN: ['error', 'Its state is unknown'],
}

export interface ToldRevision {
  id: string
  status: RevisionStatus
  statusMessage: string | null
  deployment: { id: string; name: string; customUrl: string | null }
}

/** `publicUrl`: of this server, without a slash at the end. */
export function commitStatus({ id, status, statusMessage, deployment }: ToldRevision, publicUrl: string) {
  const [state, words] = TOLD[status]
  const revisionUrl = `${publicUrl}/v2/deployments/${deployment.id}/revisions/${id}`
  return {
    state,
    context: `pilothouse/${deployment.name}`,
    description: shortened(statusMessage ?? words),
    targetUrl: (state === 'success' && deployment.customUrl) || revisionUrl,
  } satisfies NewCommitStatus
}

/** The first line: below it is only output. */
function shortened(message: string): string {
  const line = message.trim().split('\n')[0]!.trim()
  // never half of a pair of surrogates
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
