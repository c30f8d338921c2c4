/**
 * Tells commits how their revisions fare. The rows of `commit_statuses` that say of which are written by a trigger,
 * so a provider that can't be reached delays what is told, and never a deployment.
 */
import { Prisma } from '../../generated/prisma/client.ts'
import type { Core } from '../context.ts'
import { type GitProvider, ProviderUnavailableError } from '../integrations/provider.ts'
import { commitStatus } from './commit-status.ts'

/** told at the same time */
const AT_ONCE = 6
/** seconds; longer than any call to the provider may take. A server that died in between is made up for then */
const TAKEN = 120
/** hours after which a status that can't be told is of no use any more */
const GIVE_UP = 24

interface Due {
  revisionId: string
  /** of the row; another one means that the revision has moved on */
  version: number
}

/** Tells all that is due. Safe to run on several servers at once: each status is told by one of them. */
export async function reportStatuses(core: Core, signal?: AbortSignal): Promise<void> {
  // without a provider here, another server may have one
  if (!core.gitProvider) return
  const { gitProvider } = core
  while (!signal?.aborted) {
    const due = await take(core)
    if (due.length === 0) return
    await Promise.all(due.map((one) => report(core, gitProvider, one, signal)))
  }
}

/** The lease keeps other servers off, also when the revision moves on meanwhile: an older status must not arrive behind a newer one. */
function take(core: Core): Promise<Due[]> {
  return core.db.$queryRaw`
    UPDATE commit_statuses SET taken_until = clock_timestamp() + make_interval(secs => ${TAKEN})
    WHERE revision_id IN (
      SELECT revision_id FROM commit_statuses
      WHERE due_at <= clock_timestamp() AND (taken_until IS NULL OR taken_until < clock_timestamp())
      ORDER BY due_at LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)
    RETURNING revision_id AS "revisionId", version`
}

async function report(core: Core, provider: GitProvider, due: Due, signal?: AbortSignal): Promise<void> {
  try {
    await tell(core, provider, due.revisionId, signal)
    await finish(core, due)
  } catch (error) {
    if (signal?.aborted) return giveBack(core, due, Prisma.empty)
    if (!(error instanceof ProviderUnavailableError))
      core.log.error({ err: error, revisionId: due.revisionId }, 'could not tell a commit its status')
    await postpone(core, due)
  }
}

/** Of the revision as it is now. What nobody can be told, or nobody wants to know, counts as told. */
async function tell(core: Core, provider: GitProvider, revisionId: string, signal?: AbortSignal): Promise<void> {
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

/** If the revision has moved on, the row stays, and is due. */
async function finish(core: Core, due: Due): Promise<void> {
  const { count } = await core.db.commitStatus.deleteMany({
    where: { revisionId: due.revisionId, version: due.version },
  })
  if (count === 0) await giveBack(core, due, Prisma.empty)
}

/** Tried again after 5 s, 10 s … 10 min; dropped a day after the revision last moved. */
async function postpone(core: Core, due: Due): Promise<void> {
  const dropped = await core.db.$executeRaw`
    DELETE FROM commit_statuses WHERE revision_id = ${due.revisionId}::uuid AND version = ${due.version}
      AND since < clock_timestamp() - make_interval(hours => ${GIVE_UP})`
  if (dropped > 0) {
    core.log.warn({ revisionId: due.revisionId }, 'a commit was not told its status: the git provider was unavailable')
    return
  }
  const wait = Prisma.sql`, tries = tries + 1,
    due_at = clock_timestamp() + make_interval(secs => least(600, 5 * power(2, least(tries, 20))))`
  await giveBack(core, due, wait)
}

async function giveBack(core: Core, { revisionId }: Due, more: Prisma.Sql): Promise<void> {
  await core.db.$executeRaw`
    UPDATE commit_statuses SET taken_until = NULL ${more} WHERE revision_id = ${revisionId}::uuid`
}
