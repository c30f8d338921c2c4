/** Whether the integration that a new deployment names is there, and reaches the repository that it names. */
import type { Source } from '../../generated/prisma/enums.ts'
import type { RequestContext } from '../context.ts'
import { parseRepoUrl } from '../deployments/repo-url.ts'
import type { SourceConfig } from '../deployments/schemas.ts'
import type { Violation } from '../errors.ts'
import { violation } from '../parse.ts'
import { reachable, requireIntegration } from './live.ts'

/**
 * Asks the provider, so before the transaction. A `directory` takes any URL. Throws NotFoundError for the integration;
 * ConflictError while it is suspended; ProviderUnavailableError.
 */
export async function reachViolations(
  ctx: RequestContext,
  { source, source_config: config }: { source: Source; source_config: SourceConfig },
): Promise<Violation[]> {
  if (config.integration_id == null) return []
  const integration = await requireIntegration(ctx, config.integration_id)
  if (source !== 'gitprovider' || integration.kind !== 'app' || config.repo_url == null) return []
  // the rules tell of it
  if (typeof parseRepoUrl(config.repo_url) === 'string') return []
  const { provider, installation } = reachable(ctx, integration)
  const repository = provider.repositoryOf(config.repo_url)
  const token = repository && (await provider.cloneToken(installation, repository, ctx.signal))
  if (token) return []
  return [
    violation('source_config.repo_url', `Must be a repository that the integration '${integration.name}' reaches.`),
  ]
}
