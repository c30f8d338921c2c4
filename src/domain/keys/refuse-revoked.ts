/** Whether the key of a call still holds when the call has waited. */
import type { RequestContext } from '../context.ts'
import { UnauthenticatedError } from '../errors.ts'

/** A call that waited may have outlived its key, and what it found has secrets in it. Throws UnauthenticatedError. */
export async function refuseRevoked(ctx: RequestContext): Promise<void> {
  const key = await ctx.db.apiKey.findUnique({ where: { id: ctx.actor.subject } })
  if (!key || key.revokedAt || (key.expiresAt && key.expiresAt <= ctx.clock()))
    throw new UnauthenticatedError('The API key is unknown, expired or revoked.')
}
