/** Creates an OAuth provider: a client that an admin registered at a third party (docs/oauth.md#rules). */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { ConflictError, rejectIfAny } from '../../errors/errors.ts'
import { parse } from '../../parsing/parse.ts'
import { actorOf, requireRole } from '../../transaction/access.ts'
import { type RequestContext, transaction } from '../../transaction/context.ts'
import { type ReadBack, writeVerb } from '../../transaction/read-back.ts'
import { type AuthMethod, createBody, type ProviderType } from '../../values/oauth-provider.ts'
import { ownProviders, sealClientSecret } from '../provider-access.ts'
import { createViolations } from './rules.ts'

/** A provider to insert. An absent member is unknown. */
export interface NewProvider {
  id?: string
  providerId: string
  name: string
  clientId: string
  /** plain text, encrypted on insert; null: none */
  clientSecret: string | null
  authUrl: string
  tokenUrl: string
  usesPkce: boolean
  providerType?: ProviderType | null
  tokenEndpointAuthMethod: AuthMethod
  mcpServerUrl?: string
  isDynamicClient?: boolean
  resource?: string
  issuer?: string
  revocationUrl?: string | null
  userinfoUrl?: string | null
  /** when the issuer and the URLs above were read */
  metadataReadAt?: Date
}

export const createInput = z.object({ body: createBody })

/** Throws ConflictError (ALREADY_EXISTS). */
export const createProvider = writeVerb<OAuthProvider>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  const { body } = parse(createInput, raw)
  rejectIfAny(createViolations(ctx.oauth, body))
  const data = {
    providerId: body.provider_id,
    name: body.name,
    clientId: body.client_id,
    clientSecret: body.client_secret ?? null,
    authUrl: body.auth_url,
    tokenUrl: body.token_url,
    usesPkce: body.uses_pkce ?? false,
    providerType: body.provider_type,
    tokenEndpointAuthMethod: body.token_endpoint_auth_method ?? 'client_secret_post',
  } as const
  return insertProvider(ctx, data, read)
})

/** Inserts a validated provider. The event goes to the caller's workspace. Throws ConflictError (ALREADY_EXISTS). */
export function insertProvider<T>(
  ctx: RequestContext,
  data: NewProvider,
  read: ReadBack<OAuthProvider, T>,
): Promise<T> {
  const { id: workspaceId, organizationId } = ctx.workspace
  const { clientSecret, ...rest } = data
  const id = data.id ?? randomUUID()
  return transaction(ctx, async (tx) => {
    const [provider] = await tx.sql.oAuthProvider.createManyAndReturn({
      data: [
        {
          ...rest,
          id,
          organizationId,
          clientSecret: clientSecret === null ? null : sealClientSecret(ctx.keyring, id, clientSecret),
          createdBy: ctx.actor.subject,
          createdIn: workspaceId,
        },
      ],
      // The unique index also decides between concurrent calls; its error would abort the transaction.
      skipDuplicates: true,
    })
    if (!provider) throw alreadyExists(organizationId, data.providerId)
    tx.emit({ workspaceId, type: 'oauth_provider.created', subjectId: id, actor: actorOf(ctx.actor) })
    return read(tx, provider)
  })
}

/** For callers with side effects before the insert, which checks again. Throws ConflictError (ALREADY_EXISTS). */
export async function requireUnused(ctx: RequestContext, providerId: string): Promise<void> {
  const where = { ...ownProviders(ctx), providerId }
  const found = await ctx.db.oAuthProvider.findFirst({ where, select: { id: true } })
  if (found) throw alreadyExists(ctx.workspace.organizationId, providerId)
}

const alreadyExists = (organizationId: string, providerId: string) =>
  new ConflictError(
    `OAuth provider '${providerId}' of organization ID '${organizationId}' already exists.`,
    'ALREADY_EXISTS',
  )
