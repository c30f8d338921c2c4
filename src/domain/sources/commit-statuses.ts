/** Reports revisions' statuses as commit statuses. A trigger queues them, so an unavailable provider delays no deployment. */
import { Prisma } from '../../generated/prisma/client.ts'
import type { RevisionStatus } from '../../generated/prisma/enums.ts'
import { type GitProvider, type NewCommitStatus, ProviderUnavailableError } from '../ports/git-provider.ts'
import { toDeleteOrSkip } from '../repositories/locks.ts'
import type { Core, ReadCore } from '../transaction/context.ts'

const CONCURRENCY = 6
/** Longer than the timeout of a call to the provider. */
const LEASE_SECONDS = 120
const GIVE_UP_HOURS = 24

interface QueuedStatus {
  revisionId: string
  /** version of the queue's row; it changes with the revision's status */
  version: number
}

/** Runs one round: reports all due statuses. Safe on several servers. */
export async function reportStatuses(core: Core, signal?: AbortSignal): Promise<void> {
  // another server may have a provider
  if (!core.gitProvider) return
  const { gitProvider } = core
  while (!signal?.aborted) {
    const due = await leaseDue(core)
    if (due.length === 0) return
    await Promise.all(due.map((one) => report(core, gitProvider, one, signal)))
  }
}

/**
 * The lease lasts even if the revision changes, so an older status can't arrive after a newer one. `due_at` is compared in whole
 * milliseconds, the precision of the column, so a new row is due immediately.
 */
function leaseDue(core: ReadCore): Promise<QueuedStatus[]> {
  return core.db.$queryRaw`
    UPDATE commit_statuses SET taken_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
    WHERE revision_id IN (
      SELECT revision_id FROM commit_statuses
      WHERE due_at <= clock_timestamp()::timestamptz(3) AND (taken_until IS NULL OR taken_until < clock_timestamp())
      ORDER BY due_at LIMIT ${CONCURRENCY} ${toDeleteOrSkip('commit_statuses')})
    RETURNING revision_id AS "revisionId", version`
}

async function report(core: ReadCore, provider: GitProvider, due: QueuedStatus, signal?: AbortSignal): Promise<void> {
  try {
    const { revisionId, version } = due
    await send(core, provider, revisionId, signal)
    const { count } = await core.db.commitStatus.deleteMany({ where: { revisionId, version } })
    // the status changed during the call, so the row stays and is due
    if (count === 0) await release(core, due, Prisma.empty)
  } catch (error) {
    if (signal?.aborted) return release(core, due, Prisma.empty)
    if (!(error instanceof ProviderUnavailableError))
      core.log.error({ err: error, revisionId: due.revisionId }, 'could not report a commit status; it is retried')
    await postpone(core, due)
  }
}

/** Sends the revision's current status. Without a usable installation the status counts as sent. */
async function send(core: ReadCore, provider: GitProvider, revisionId: string, signal?: AbortSignal): Promise<void> {
  const revision = await core.db.revision.findUnique({
    where: { id: revisionId },
    include: { deployment: { include: { integration: true } } },
  })
  const integration = revision?.deployment.integration
  if (!revision?.repoCommitSha || !integration?.installationId) return
  if (integration.removedAt || integration.suspendedAt) return
  const repository = provider.repositoryOf(revision.repoUrl ?? '')
  if (!repository) return
  const status = commitStatus(revision, core.publicUrl())
  await provider.createStatus(Number(integration.installationId), repository, revision.repoCommitSha, status, signal)
}

/** Retries after 5 s, 10 s … 10 min. Drops the status a day after its last change. */
async function postpone(core: ReadCore, due: QueuedStatus): Promise<void> {
  const dropped = await core.db.$executeRaw`
    DELETE FROM commit_statuses WHERE revision_id = ${due.revisionId}::uuid AND version = ${due.version}
      AND since < clock_timestamp() - make_interval(hours => ${GIVE_UP_HOURS})`
  if (dropped > 0) {
    core.log.warn(
      { revisionId: due.revisionId },
      'gave up on a commit status after a day: the git provider was unavailable',
    )
    return
  }
  const wait = Prisma.sql`, tries = tries + 1,
    due_at = clock_timestamp() + make_interval(secs => least(600, 5 * power(2, least(tries, 20))))`
  await release(core, due, wait)
}

async function release(core: ReadCore, { revisionId }: QueuedStatus, more: Prisma.Sql): Promise<void> {
  await core.db.$executeRaw`
    UPDATE commit_statuses SET taken_until = NULL ${more} WHERE revision_id = ${revisionId}::uuid`
}

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

interface RevisionToReport {
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
