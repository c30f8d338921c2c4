/**
 * The life of a revision (docs/deployments.md#revisions-and-rollouts): which status may follow which, and what each status means for the
 * queue. Pure; the only place where this is written down.
 */
import type { RevisionStatus, Source, StepKind } from '../../generated/prisma/enums.ts'
import type { MissingContent } from './explanation.ts'

/** Work ended here. Only a redeploy leads on. */
export const TERMINAL = [
  'DEPLOYED',
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'SKIPPED',
  'INTERRUPTED',
] as const satisfies RevisionStatus[]

/** Nobody works on it yet: a newer rollout skips it. */
const WAITING = ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY'] as const satisfies RevisionStatus[]

/** It waits, whatever its reason: the work before it has ended, and the next has not begun. */
export const BETWEEN_STEPS = ['QUEUED', 'AWAITING_BUILD', 'AWAITING_DEPLOY'] as const satisfies RevisionStatus[]

/** It has the deployment's one turn. */
const IN_TURN = ['AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING'] as const satisfies RevisionStatus[]

/** A build is to come, or under way. */
export const BUILD_AHEAD = ['CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING'] as const satisfies RevisionStatus[]

/** Not terminal. UNKNOWN is reserved for what a runtime can't tell. */
export const OPEN = ['CREATING', 'QUEUED', ...IN_TURN] as const satisfies RevisionStatus[]

/** Statuses as a list in SQL. */
export const inSql = (statuses: readonly RevisionStatus[]) => statuses.map((status) => `'${status}'`).join(', ')

/** Its work ended because something went wrong. */
export const FAILED = ['CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED'] as const satisfies RevisionStatus[]

/** Whether its work has not ended. */
export const isOpen = ({ status }: { status: RevisionStatus }): boolean =>
  (OPEN as readonly RevisionStatus[]).includes(status)

const TABLE: Record<RevisionStatus, readonly RevisionStatus[]> = {
  CREATING: ['QUEUED', 'CREATE_FAILED', 'SKIPPED', 'INTERRUPTED'],
  QUEUED: ['AWAITING_BUILD', 'AWAITING_DEPLOY', 'SKIPPED', 'INTERRUPTED'],
  AWAITING_BUILD: ['BUILDING', 'BUILD_FAILED', 'SKIPPED', 'INTERRUPTED'],
  BUILDING: ['AWAITING_DEPLOY', 'BUILD_FAILED', 'INTERRUPTED'],
  AWAITING_DEPLOY: ['DEPLOYING', 'DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED'],
  DEPLOYING: ['DEPLOYED', 'DEPLOY_FAILED', 'INTERRUPTED'],
  // a redeploy: back into the queue, or to the start if the deployment was never provisioned
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

/** What a revision turns into when its step fails. A failed TEARDOWN concerns no revision. */
export const FAILED_AS: Record<Exclude<StepKind, 'TEARDOWN'>, RevisionStatus> = {
  PROVISION: 'CREATE_FAILED',
  BUILD: 'BUILD_FAILED',
  DEPLOY: 'DEPLOY_FAILED',
}

/** The sources whose code is built; the others bring an image. */
function isBuildable(source: Source): boolean {
  return source === 'gitprovider' || source === 'internal_source'
}

/** What of a revision decides whether there is something to build or run. */
export interface Content {
  source: Source
  repoRef: string | null
  imageUri: string | null
  sourceTarballPath: string | null
  artifact: string | null
}

/** What is missing before the revision can be built or run, or null. */
export function missingContent(revision: Content): MissingContent | null {
  if (revision.source === 'internal_source' && revision.sourceTarballPath === null) return 'WAITING_FOR_TARBALL'
  if (!isBuildable(revision.source) && revision.imageUri === null) return 'WAITING_FOR_IMAGE'
  return null
}

/** With an artifact or an image the build is left out. */
export function needsBuild(revision: Content): boolean {
  return isBuildable(revision.source) && revision.artifact === null
}
