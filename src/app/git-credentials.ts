/** Gets credentials for a deployment's repository: a token of its integration, valid for an hour at most. */
import type { GitCredentials } from '../dataplane/build/source-access.ts'
import { StepFailure } from '../dataplane/output/step-failure.ts'
import { ProviderUnavailableError } from '../domain/ports/git-provider.ts'
import { recordRepositoryId } from '../domain/repositories/deployment.ts'
import type { Core } from '../domain/transaction/context.ts'
import { backoff, retry } from '../platform/async/retry.ts'
import { withTimeout } from '../platform/async/time-limit.ts'

/** User name that the provider expects with an installation token. */
const USERNAME = 'x-access-token'

/** how long a build waits for an unavailable provider */
const MAX_WAIT_MS = 60_000

/** Null: the repository needs no credentials. Throws StepFailure that says what to do. */
export async function gitCredentials(
  core: Core,
  deploymentId: string,
  signal: AbortSignal,
  longestWait = MAX_WAIT_MS,
): Promise<GitCredentials | null> {
  const { integration, repoUrl } = await core.db.deployment.findUniqueOrThrow({
    where: { id: deploymentId },
    select: { repoUrl: true, integration: true },
  })
  if (!integration || integration.kind === 'directory') return null
  if (integration.removedAt)
    throw new StepFailure(
      'INTEGRATION_UNAVAILABLE',
      'Its git integration was removed: install it again, and create the deployment again with the new one.',
    )
  if (integration.suspendedAt)
    throw new StepFailure(
      'INTEGRATION_UNAVAILABLE',
      'Its git integration is suspended at the git provider: resume it there, then redeploy.',
    )
  const provider = core.gitProvider
  if (!provider)
    throw new StepFailure(
      'INTEGRATION_UNAVAILABLE',
      'No git provider is configured on this server: see its GITPROVIDER_ settings.',
    )
  const repository = provider.repositoryOf(repoUrl ?? '')
  if (!repository)
    throw new StepFailure(
      'INTEGRATION_UNAVAILABLE',
      `${repoUrl} is not at the git provider of its integration: use one of its repositories.`,
    )
  const found = await retryWhileUnavailable(longestWait, signal, (over) =>
    provider.cloneToken(Number(integration.installationId), repository, over),
  )
  if (found === null)
    throw new StepFailure(
      'INTEGRATION_UNAVAILABLE',
      `The installation does not reach the repository ${repository}: add the repository to it at the git provider, then redeploy. If the repository moved to another account, create the deployment again with an integration of that account.`,
    )
  // lets a push after a rename find the deployment
  await recordRepositoryId(core, deploymentId, found.repositoryId)
  const credentials = { username: USERNAME, password: found.token }
  if (sameName(found.repository, repository)) return credentials
  return { ...credentials, repoUrl: new URL(`/${found.repository}.git`, repoUrl!).href }
}

const sameName = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

/** Retries while the provider is unavailable. After `ms`, the step fails with the provider's last error. */
async function retryWhileUnavailable<T>(
  ms: number,
  signal: AbortSignal,
  ask: (over: AbortSignal) => Promise<T>,
): Promise<T> {
  const giveUpAt = performance.now() + ms
  const isSilent = (error: unknown) => (error as Error).name === 'TimeoutError'
  try {
    return await retry(() => withTimeout(Math.max(1000, giveUpAt - performance.now()), signal, ask), {
      withinMs: ms,
      signal,
      when: (error) => error instanceof ProviderUnavailableError || isSilent(error),
      pause: (retries) => backoff(retries, 1000, 10_000),
    })
  } catch (error) {
    signal.throwIfAborted()
    const why = isSilent(error) ? new ProviderUnavailableError(SILENT) : error
    if (why instanceof ProviderUnavailableError) throw new StepFailure('INTEGRATION_UNAVAILABLE', why.message)
    throw error
  }
}

const SILENT = 'did not answer in time'
