/**
 * Allowed transitions of a revision, and what a status means for the queue
 * (docs/deployments.md#revisions-and-rollouts).
 */
import type { RevisionStatus, Source, StepKind } from '../../generated/prisma/enums.ts'
import { knownReason, type Reason } from '../errors/reasons.ts'
import type { MissingContent } from './explanation.ts'

/** The revision's work has ended. Only a redeploy leads out of these. */
export const TERMINAL = [
  'DEPLOYED',
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
] as const satisfies RevisionStatus[]

/** No worker is active, so a newer rollout skips the revision. */
const WAITING = ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY'] as const satisfies RevisionStatus[]

/** The previous step has ended and the next has not begun. Such a revision waits, whether or not it has a reason. */
export const BETWEEN_STEPS = ['QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY'] as const satisfies RevisionStatus[]

/** The revision occupies the deployment. At most one revision of a deployment has such a status. */
const IN_TURN = ['AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING'] as const satisfies RevisionStatus[]

export const BUILD_AHEAD = ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING'] as const satisfies RevisionStatus[]

/** All statuses that are not terminal. UNKNOWN is reserved for a state that a runtime cannot determine. */
export const OPEN = ['CREATING', 'QUEUED', ...IN_TURN] as const satisfies RevisionStatus[]

export const inSql = (statuses: readonly RevisionStatus[]) => statuses.map((status) => `'${status}'`).join(', ')

export const FAILED = ['CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED'] as const satisfies RevisionStatus[]

export const isOpen = ({ status }: { status: RevisionStatus }): boolean =>
  (OPEN as readonly RevisionStatus[]).includes(status)

const TABLE: Record<RevisionStatus, readonly RevisionStatus[]> = {
  CREATING: ['QUEUED', 'CREATE_FAILED', 'SKIPPED', 'INTERRUPTED'],
  QUEUED: ['AWAITING_BUILD', 'AWAITING_DEPLOY', 'SKIPPED', 'INTERRUPTED'],
  AWAITING_BUILD: ['BUILDING', 'BUILD_FAILED', 'SKIPPED', 'INTERRUPTED'],
  BUILDING: ['AWAITING_DEPLOY', 'BUILD_FAILED', 'INTERRUPTED'],
  AWAITING_DEPLOY: ['DEPLOYING', 'DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED'],
  DEPLOYING: ['DEPLOYED', 'DEPLOY_FAILED', 'INTERRUPTED'],
  // a redeploy: back to the queue, or to the start if the deployment was never provisioned
  DEPLOYED: ['QUEUED', 'CREATING'],
  CREATE_FAILED: ['QUEUED', 'CREATING'],
  BUILD_FAILED: ['QUEUED', 'CREATING'],
  DEPLOY_FAILED: ['QUEUED', 'CREATING'],
  SKIPPED: ['QUEUED', 'CREATING'],
  INTERRUPTED: ['QUEUED', 'CREATING'],
  UNKNOWN: [],
}

export function canMove(from: RevisionStatus, to: RevisionStatus): boolean {
  return TABLE[from].includes(to)
}

const among = (statuses: readonly RevisionStatus[]) => (status: RevisionStatus) => statuses.includes(status)
export const isTerminal = among(TERMINAL)
export const isInTurn = among(IN_TURN)
export const isWaiting = among(WAITING)

/** The revision's status after a step failed. A failed TEARDOWN changes no revision. */
export const FAILED_AS: Record<Exclude<StepKind, 'TEARDOWN'>, RevisionStatus> = {
  PROVISION: 'CREATE_FAILED',
  BUILD: 'BUILD_FAILED',
  DEPLOY: 'DEPLOY_FAILED',
}

/** Other sources bring an image. */
function isBuildable(source: Source): boolean {
  return source === 'gitprovider' || source === 'internal_source'
}

export interface Content {
  source: Source
  repoRef: string | null
  imageUri: string | null
  sourceTarballPath: string | null
  artifact: string | null
}

/** Null: nothing is missing. */
export function missingContent(revision: Content): MissingContent | null {
  if (revision.source === 'internal_source' && revision.sourceTarballPath === null) return 'WAITING_FOR_TARBALL'
  if (!isBuildable(revision.source) && revision.imageUri === null) return 'WAITING_FOR_IMAGE'
  return null
}

export function needsBuild(revision: Content): boolean {
  return isBuildable(revision.source) && revision.artifact === null
}

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

export const MESSAGE_FIELDS = {
  status: true,
  statusSince: true,
  reason: true,
  reasonSince: true,
  statusMessage: true,
} as const

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
