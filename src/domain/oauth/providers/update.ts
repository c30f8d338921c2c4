/** PATCH of an OAuth provider. An absent or null member keeps the stored value (docs/deployments.md#deployments). */
import { z } from 'zod'
import type { OAuthProvider, Prisma } from '../../../generated/prisma/client.ts'
import { rejectIfAny } from '../../errors/errors.ts'
import { requireVersion } from '../../errors/precondition.ts'
import { changedFields } from '../../parsing/changed-fields.ts'
import { parse } from '../../parsing/parse.ts'
import { requireRole } from '../../transaction/access.ts'
import { type RequestContext, transaction } from '../../transaction/context.ts'
import { writeVerb } from '../../transaction/read-back.ts'
import { providerPath, type UpdateBody, updateBody } from '../../values/oauth-provider.ts'
import { lockProvider, sealClientSecret } from '../provider-access.ts'
import { emitToWorkspaces, findProviderUsers, requireNoOtherWorkspace } from './provider-users.ts'
import { updateViolations } from './rules.ts'

export const updateInput = z.object({ path: providerPath, body: updateBody })

/** Tokens stay, but are not refreshed after token_url moves to another origin. A call without changes writes no event. */
export const updateProvider = writeVerb<OAuthProvider>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  const { path, body } = parse(updateInput, raw)
  return transaction(ctx, async (tx) => {
    const stored = await lockProvider(tx, ctx, path.provider_id)
    const users = await findProviderUsers(tx.sql, stored.id)
    requireNoOtherWorkspace(ctx, stored, users)
    requireVersion(raw.ifMatch, 'OAuth provider', path.provider_id, stored)
    rejectIfAny(updateViolations(ctx.oauth, stored, body))
    const columnValues = { ...columns(body), ...secretColumn(ctx, stored, body) }
    // A sent secret always counts as a change: it is encrypted again, and no caller can send the stored ciphertext back.
    const changed = changedFields(stored, columnValues)
    if (changed.length === 0) return read(tx, stored)
    const updated = await tx.sql.oAuthProvider.update({
      where: { id: stored.id },
      data: { ...columnValues, ...metadataColumns(stored, body), editVersion: { increment: 1 }, updatedAt: tx.now() },
    })
    emitToWorkspaces(tx, ctx, { id: stored.id, users, type: 'oauth_provider.updated', changed })
    return read(tx, updated)
  })
})

type Data = Partial<Pick<Prisma.OAuthProviderUncheckedUpdateInput, keyof OAuthProvider>>

function columns(body: UpdateBody): Data {
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

/** Deletes a secret that the new auth method does not use. */
function secretColumn(ctx: RequestContext, { id }: OAuthProvider, body: UpdateBody): Data {
  if (body.token_endpoint_auth_method === 'none') return { clientSecret: null }
  return body.client_secret == null ? {} : { clientSecret: sealClientSecret(ctx.keyring, id, body.client_secret) }
}

/** New URLs make the stored metadata invalid. */
function metadataColumns(stored: OAuthProvider, body: UpdateBody): Data {
  const same =
    (body.auth_url ?? stored.authUrl) === stored.authUrl && (body.token_url ?? stored.tokenUrl) === stored.tokenUrl
  return same ? {} : { issuer: null, revocationUrl: null, userinfoUrl: null, metadataReadAt: null }
}
