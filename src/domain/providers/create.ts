/** Creates an OAuth provider: a client of ours at a third party, that somebody has registered there (spec 2.8). */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { OAuthProvider } from '../../generated/prisma/client.ts'
import { requireRole } from '../access.ts'
import { type RequestContext, transaction } from '../context.ts'
import { ConflictError, rejectIfAny } from '../errors.ts'
import { parse, type RawInput } from '../parse.ts'
import { asWritten, type ReadBack } from '../written.ts'
import { ownProviders, sealClientSecret } from './find.ts'
import { createViolations } from './rules.ts'
import { type AuthMethod, createBody, type ProviderType } from './schemas.ts'

/** A provider that is to be: what is left out is not known. */
export interface NewProvider {
  /** of the row; default: a new one */
  id?: string
  providerId: string
  name: string
  clientId: string
  /** as it is: it is sealed here; null: it has none */
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
  /** when the three above were looked for */
  metadataReadAt?: Date
}

export const createInput = z.object({ body: createBody })

/**
 * Answers the row, or what `read` reads in its transaction. Role: admin. Throws ForbiddenError, ValidationError,
 * ConflictError (ALREADY_EXISTS).
 */
export function createProvider(ctx: RequestContext, raw: RawInput): Promise<OAuthProvider>
export function createProvider<T>(ctx: RequestContext, raw: RawInput, read: ReadBack<OAuthProvider, T>): Promise<T>
export async function createProvider(
  ctx: RequestContext,
  raw: RawInput,
  read: ReadBack<OAuthProvider, unknown> = asWritten,
): Promise<unknown> {
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
}

/**
 * Puts it into the caller's organization, and says so in the log of their workspace; everything was checked before.
 * Throws ConflictError (ALREADY_EXISTS).
 */
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
        },
      ],
      // the unique index decides, also between two at once; what it refuses would end the transaction
      skipDuplicates: true,
    })
    if (!provider) throw alreadyExists(organizationId, data.providerId)
    tx.emit({ workspaceId, type: 'oauth_provider.created', subjectId: id, actor: ctx.actor.subject })
    return read(tx.sql, provider)
  })
}

/**
 * Throws ConflictError (ALREADY_EXISTS), for who has something to do elsewhere before the insert, which looks again.
 */
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
