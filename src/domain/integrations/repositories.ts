/** Lists the repositories that an integration reaches (spec 2.10): what `repo_url` and `repo_ref` of a deployment come from. */
import { z } from 'zod'
import type { Integration } from '../../generated/prisma/client.ts'
import { requireRole, tenant } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { uuid } from '../fields.ts'
import { parse, type RawInput } from '../parse.ts'
import { findRepositories } from './directory.ts'

/** A git repository, as spec 2.10 has it. */
export interface Repository {
  hostIntegrationId: string
  /** stable for the repository's path, at most 2^53 - 1 */
  id: number
  name: string
  owner: string
  url: string
  defaultBranch: string
}

export const listRepositoriesInput = z.object({ path: z.object({ integration_id: uuid }) })

/** The integration's repositories. Role: viewer. Throws NotFoundError. */
export async function listRepositories(ctx: RequestContext, raw: RawInput): Promise<Repository[]> {
  requireRole(ctx, 'viewer')
  const { path } = parse(listRepositoriesInput, raw)
  const integration = await ctx.db.integration.findFirst({ where: { id: path.integration_id, ...tenant(ctx) } })
  if (!integration) throw new NotFoundError('Integration', path.integration_id)
  return repositoriesOf(ctx, integration)
}

/** For whoever has read the integration already. */
export async function repositoriesOf(ctx: RequestContext, integration: Integration): Promise<Repository[]> {
  const found = await findRepositories(ctx.settings.gitDirectory)
  return found.map(({ owner, ...repository }) => ({
    ...repository,
    owner: owner ?? integration.name,
    hostIntegrationId: integration.id,
  }))
}
