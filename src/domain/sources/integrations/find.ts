/** Finds git integrations. Readers do not see a removed one, although its deployments still refer to it. */

import { z } from 'zod'
import type { Integration } from '../../../generated/prisma/client.ts'
import { ConflictError } from '../../errors/errors.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import type { GitProvider } from '../../ports/git-provider.ts'
import { requireRole, tenant } from '../../transaction/access.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { resource } from '../../transaction/resource.ts'

/** The tenant boundary of integrations. */
export function liveIntegration(ctx: RequestContext): { workspaceId: string; removedAt: null } {
  return { ...tenant(ctx), removedAt: null }
}

export const integrations = resource<Integration>({
  name: 'Integration',
  table: (sql) => sql.integration,
  visible: liveIntegration,
})

/** Throws ConflictError if none is configured. */
export function requireGitProvider({ gitProvider }: { gitProvider: GitProvider | null }): GitProvider {
  if (gitProvider) return gitProvider
  throw new ConflictError(
    'This server has no git provider: its operator has to set GITPROVIDER_API_URL, GITPROVIDER_APP_ID, GITPROVIDER_PRIVATE_KEY and GITPROVIDER_WEBHOOK_SECRET.',
  )
}

/**
 * The provider and the installation of an `app` integration. Throws ConflictError if it is suspended or no provider is
 * configured.
 */
export function requireActiveInstallation(
  ctx: RequestContext,
  integration: Integration,
): { provider: GitProvider; installation: number } {
  const provider = requireGitProvider(ctx)
  if (integration.suspendedAt)
    throw new ConflictError(
      `The integration '${integration.name}' is suspended at the git provider: an owner of its account has to lift that there.`,
    )
  return { provider, installation: Number(integration.installationId) }
}

export const listInput = z.object({})

export async function listIntegrations(ctx: RequestContext, raw: RawInput): Promise<Integration[]> {
  requireRole(ctx, 'viewer')
  parse(listInput, raw)
  return ctx.db.integration.findMany({ where: liveIntegration(ctx), orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
}
