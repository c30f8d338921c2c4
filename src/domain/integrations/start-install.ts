/** Begins the installation of our app at the git provider: gives the address where a person installs it. */
import { createHash, randomBytes } from 'node:crypto'
import { requireRole } from '../access.ts'
import type { RequestContext } from '../context.ts'
import { requireProvider } from './live.ts'

/** Minutes that a person has to come back. */
const VALID_MINUTES = 15

/** What is stored of a state, so that nobody who reads the table can finish an installation. */
export function hashState(state: string): string {
  return createHash('sha256').update(state).digest('hex')
}

/** The address leads back to the call-back, once, until `expiresAt`. Role: admin. Throws ConflictError; ProviderUnavailableError. */
export async function startInstall(ctx: RequestContext): Promise<{ installUrl: string; expiresAt: Date }> {
  requireRole(ctx, 'admin')
  const provider = requireProvider(ctx)
  const state = randomBytes(32).toString('base64url')
  const installUrl = await provider.installUrl(state, ctx.signal)
  const [made] = await ctx.db.$queryRaw<[{ expires_at: Date }]>`
    WITH over AS (DELETE FROM install_states WHERE expires_at < now())
    INSERT INTO install_states (hash, workspace_id, subject, expires_at)
    VALUES (${hashState(state)}, ${ctx.workspace.id}::uuid, ${ctx.actor.subject}, now() + make_interval(mins => ${VALID_MINUTES}::int))
    RETURNING expires_at`
  return { installUrl, expiresAt: made.expires_at }
}
