/** PATCH of an OAuth provider: an absent or null member keeps what is stored (contract 3). */
import { z } from 'zod'
import type { OAuthProvider, Prisma } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import { changesAnything } from '../changes.ts'
import { type RequestContext, transaction } from '../context.ts'
import { rejectIfAny } from '../errors.ts'
import { parse, type RawInput } from '../parse.ts'
import { asWritten, type ReadBack } from '../written.ts'
import { lockProvider, sealClientSecret } from './find.ts'
import { updateViolations } from './rules.ts'
import { providerPath, type UpdateBody, updateBody } from './schemas.ts'
import { requireNoOthers, tellUsers, usersOf } from './users.ts'

export const updateInput = z.object({ path: providerPath, body: updateBody })

/**
 * Tokens of it stay, but with a token_url of another origin they are refreshed no more. What changes nothing is no
 * update: no event. Answers the row, or what `read` reads in its transaction. Role: admin. Throws ForbiddenError (also
 * while other workspaces have tokens of it and the credential is for one), ValidationError, NotFoundError.
 */
export function updateProvider(ctx: RequestContext, raw: RawInput): Promise<OAuthProvider>
export function updateProvider<T>(ctx: RequestContext, raw: RawInput, read: ReadBack<OAuthProvider, T>): Promise<T>
export async function updateProvider(
  ctx: RequestContext,
  raw: RawInput,
  read: ReadBack<OAuthProvider, unknown> = asWritten,
): Promise<unknown> {
  requireRole(ctx, 'admin')
  const { path, body } = parse(updateInput, raw)
  return transaction(ctx, async (tx) => {
    const stored = await lockProvider(tx, ctx, path.provider_id)
    const users = await usersOf(tx.sql, stored.id)
    requireNoOthers(ctx, users)
    rejectIfAny(updateViolations(ctx.oauth, stored, body))
    const data = { ...said(body), ...secret(ctx, stored, body), ...forgotten(stored, body) }
    // a secret is always sealed anew, and so a change: nobody gets the stored one to send it back
    if (!changesAnything(stored, data)) return read(tx.sql, stored)
    const updated = await tx.sql.oAuthProvider.update({
      where: { id: stored.id },
      data: { ...data, updatedAt: tx.now() },
    })
    tellUsers(tx, ctx, { id: stored.id, users, type: 'oauth_provider.updated' })
    return read(tx.sql, updated)
  })
}

/** Columns and their new values. To Prisma undefined is nothing said. */
type Data = Partial<Pick<Prisma.OAuthProviderUncheckedUpdateInput, keyof OAuthProvider>>

function said(body: UpdateBody): Data {
  return {
    name: body.name ?? undefined,
    clientId: body.client_id ?? undefined,
    authUrl: body.auth_url ?? undefined,
    tokenUrl: body.token_url ?? undefined,
    usesPkce: body.uses_pkce ?? undefined,
    codeChallengeMethod: body.code_challenge_method ?? undefined,
    tokenEndpointAuthMethod: body.token_endpoint_auth_method ?? undefined,
  }
}

/** The stored secret goes when it is not used any more. */
function secret(ctx: RequestContext, { id }: OAuthProvider, body: UpdateBody): Data {
  if (body.token_endpoint_auth_method === 'none') return { clientSecret: null }
  return body.client_secret == null ? {} : { clientSecret: sealClientSecret(ctx.keyring, id, body.client_secret) }
}

/** What another address publishes is not what this one did: it is looked for again. */
function forgotten(stored: OAuthProvider, body: UpdateBody): Data {
  const same =
    (body.auth_url ?? stored.authUrl) === stored.authUrl && (body.token_url ?? stored.tokenUrl) === stored.tokenUrl
  return same ? {} : { issuer: null, revocationUrl: null, userinfoUrl: null, metadataReadAt: null }
}
