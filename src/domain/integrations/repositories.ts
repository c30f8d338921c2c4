/** Lists the repositories that an integration reaches (spec 2.10): what `repo_url` and `repo_ref` of a deployment come from. */
import { z } from 'zod'
import type { Integration } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { ConflictError } from '../errors.ts'
import { uuid } from '../fields.ts'
import { parse, type RawInput } from '../parse.ts'
import { findRepositories } from './directory.ts'
import { reachable, requireIntegration } from './live.ts'

/** A git repository, as spec 2.10 has it. */
export interface Repository {
  hostIntegrationId: string
  /** the provider's, or for a directory stable for the repository's path; at most 2^53 - 1 */
  id: number
  name: string
  owner: string
  url: string
  defaultBranch: string
}

export const listRepositoriesInput = z.object({ path: z.object({ integration_id: uuid }) })

/** The integration's repositories. Role: viewer. Throws NotFoundError, ConflictError, ProviderUnavailableError. */
export async function listRepositories(ctx: RequestContext, raw: RawInput): Promise<Repository[]> {
  requireRole(ctx, 'viewer')
  const { path } = parse(listRepositoriesInput, raw)
  return repositoriesOf(ctx, await requireIntegration(ctx, path.integration_id))
}

/** For whoever has read the integration already. */
export async function repositoriesOf(ctx: RequestContext, integration: Integration): Promise<Repository[]> {
  const found = integration.kind === 'app' ? await installed(ctx, integration) : await inFolder(ctx, integration)
  return found.map((repository) => ({ ...repository, hostIntegrationId: integration.id }))
}

async function inFolder(ctx: RequestContext, integration: Integration) {
  const found = await findRepositories(ctx.settings.gitDirectory)
  return found.map((repository) => ({ ...repository, owner: repository.owner ?? integration.name }))
}

async function installed(ctx: RequestContext, integration: Integration) {
  const { provider, installation } = reachable(ctx, integration)
  const found = await provider.repositories(installation, ctx.signal)
  if (found) return found
  throw new ConflictError(
    `The app is no longer installed at the git provider for '${integration.name}': remove the integration and install the app again.`,
  )
}
