/** Finds and removes git integrations. Readers do not see a removed one, although its deployments still refer to it. */
import { z } from 'zod'
import type { Integration } from '../../../generated/prisma/client.ts'
import { ConflictError, NotFoundError } from '../../errors/errors.ts'
import { uuid } from '../../parsing/fields.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import type { GitProvider } from '../../ports/git-provider.ts'
import { eventBy, requireRole, tenant } from '../../transaction/access.ts'
import { type ReadContext, type RequestContext, transaction } from '../../transaction/context.ts'
import { once } from '../../transaction/once.ts'
import { resource } from '../../transaction/resource.ts'

/** The tenant boundary of integrations. */
function liveIntegration(ctx: ReadContext): { workspaceId: string; removedAt: null } {
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

export async function listIntegrations(ctx: ReadContext, raw: RawInput): Promise<Integration[]> {
  requireRole(ctx, 'viewer')
  parse(listInput, raw)
  return ctx.db.integration.findMany({ where: liveIntegration(ctx), orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] })
}

export const removeInput = z.object({ path: z.object({ integration_id: uuid }) })

/** Its deployments keep running, but can't be built. Throws NotFoundError; ConflictError for the server's own directory. */
export const removeIntegration = once<void>(async (ctx, raw) => {
  requireRole(ctx, 'admin')
  const { path } = parse(removeInput, raw)
  const where = { id: path.integration_id, ...liveIntegration(ctx) }
  await transaction(ctx, async (tx) => {
    const found = await tx.sql.integration.findFirst({ where })
    if (found?.kind === 'directory')
      throw new ConflictError('This is the server’s own folder of repositories; it can’t be removed.')
    const { count } = await tx.sql.integration.updateMany({ where, data: { removedAt: tx.now() } })
    if (count === 0) throw new NotFoundError('Integration', path.integration_id)
    tx.emit({ ...eventBy(ctx), type: 'integration.removed', subjectId: path.integration_id })
  })
})
