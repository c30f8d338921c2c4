/** Starts the installation of the app: returns the provider's page where a person installs it. */
import { z } from 'zod'
import { hashState, newState } from '../../crypto/oauth-state.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import { requireRole } from '../../transaction/access.ts'
import type { RequestContext } from '../../transaction/context.ts'
import { requireGitProvider } from './find.ts'

/** Time that a person has to finish. */
const VALID_MINUTES = 15

export const startInput = z.object({})

/** The URL leads back to the callback once, until `expiresAt`. Role: admin. Throws ConflictError, ProviderUnavailableError. */
export async function startInstallation(
  ctx: RequestContext,
  raw: RawInput,
): Promise<{ installUrl: string; expiresAt: Date }> {
  requireRole(ctx, 'admin')
  parse(startInput, raw)
  const provider = requireGitProvider(ctx)
  const state = newState()
  const installUrl = await provider.installUrl(state, ctx.client?.gone)
  const [made] = await ctx.db.$queryRaw<[{ expires_at: Date }]>`
    WITH purged AS (DELETE FROM install_states WHERE expires_at < now())
    INSERT INTO install_states (hash, workspace_id, subject, expires_at)
    VALUES (${hashState(state)}, ${ctx.workspace.id}::uuid, ${ctx.actor.subject}, now() + make_interval(mins => ${VALID_MINUTES}::int))
    RETURNING expires_at`
  return { installUrl, expiresAt: made.expires_at }
}
