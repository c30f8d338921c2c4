/** Creates, changes and deletes OAuth providers: the organization's clients at third parties (docs/oauth.md#rules). */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { type OAuthProvider, Prisma } from '../../../generated/prisma/client.ts'
import { ConflictError, ForbiddenError, rejectIfAny, requireVersion } from '../../errors/errors.ts'
import type { NewEvent } from '../../outbox/append.ts'
import { queryBool } from '../../parsing/fields.ts'
import { changedFields, parse } from '../../parsing/parse.ts'
import { actorOf, requireRole } from '../../transaction/access.ts'
import {
  OAUTH_CHANNEL,
  type ReadContext,
  type RequestContext,
  type Sql,
  type Tx,
  transaction,
  type WriteContext,
} from '../../transaction/context.ts'
import { type ReadBack, writeVerb } from '../../transaction/once.ts'
import { createBody, providerPath, type UpdateBody, updateBody } from '../../values/oauth-provider.ts'
import { deleteTokens } from '../tokens/delete.ts'
import { lockProvider, ownProviders, providers, sealClientSecret } from '../tokens/provider-access.ts'
import { createViolations, updateViolations } from './rules.ts'

/** A provider to insert. `clientSecret`: plain text, encrypted on insert. */
type NewProvider = Omit<Prisma.OAuthProviderCreateManyInput, 'organizationId'>

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
  ctx: WriteContext,
  { id = randomUUID(), clientSecret: secret, ...columns }: NewProvider,
  read: ReadBack<OAuthProvider, T>,
): Promise<T> {
  const { id: workspaceId, organizationId } = ctx.workspace
  const clientSecret = secret == null ? null : sealClientSecret(ctx.keyring, id, secret)
  const made = { organizationId, createdBy: ctx.actor.subject, createdIn: workspaceId }
  return transaction(ctx, async (tx) => {
    const [provider] = await tx.sql.oAuthProvider.createManyAndReturn({
      data: [{ ...columns, id, clientSecret, ...made }],
      // The unique index also decides between concurrent calls; its error would abort the transaction.
      skipDuplicates: true,
    })
    if (!provider) throw alreadyExists(organizationId, columns.providerId)
    tx.emit({ workspaceId, type: 'oauth_provider.created', subjectId: id, actor: actorOf(ctx.actor) })
    return read(tx, provider)
  })
}

/** For callers with side effects before the insert, which checks again. Throws ConflictError (ALREADY_EXISTS). */
export async function requireUnused(ctx: ReadContext, providerId: string): Promise<void> {
  const where = { ...ownProviders(ctx), providerId }
  const found = await ctx.db.oAuthProvider.findFirst({ where, select: { id: true } })
  if (found) throw alreadyExists(ctx.workspace.organizationId, providerId)
}

const alreadyExists = (organizationId: string, providerId: string) =>
  new ConflictError(
    `OAuth provider '${providerId}' of organization ID '${organizationId}' already exists.`,
    'ALREADY_EXISTS',
  )

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
    const columnValues = columns(ctx, stored, body)
    // A sent secret always counts as a change: it is encrypted again, and no caller can send the stored ciphertext back.
    const changed = changedFields(stored, columnValues)
    if (changed.length === 0) return read(tx, stored)
    // new URLs make the stored metadata invalid
    const metadata = changed.includes('auth_url') || changed.includes('token_url') ? NO_METADATA : {}
    const updated = await tx.sql.oAuthProvider.update({
      where: { id: stored.id },
      data: { ...columnValues, ...metadata, editVersion: { increment: 1 }, updatedAt: tx.now() },
    })
    emitToWorkspaces(tx, ctx, { id: stored.id, users, type: 'oauth_provider.updated', changed })
    return read(tx, updated)
  })
})

const NO_METADATA = { issuer: null, revocationUrl: null, userinfoUrl: null, metadataReadAt: null }

function columns(ctx: ReadContext, { id }: OAuthProvider, body: UpdateBody) {
  const { client_secret: secret, token_endpoint_auth_method: method } = body
  return {
    name: body.name ?? undefined,
    clientId: body.client_id ?? undefined,
    authUrl: body.auth_url ?? undefined,
    tokenUrl: body.token_url ?? undefined,
    usesPkce: body.uses_pkce ?? undefined,
    codeChallengeMethod: body.code_challenge_method ?? undefined,
    tokenEndpointAuthMethod: method ?? undefined,
    // deletes a secret that the new auth method does not use
    clientSecret: method === 'none' ? null : secret == null ? undefined : sealClientSecret(ctx.keyring, id, secret),
  }
}

export const deleteInput = z.object({
  path: providerPath,
  query: z.object({
    force: queryBool.describe('Also deletes and revokes the tokens of all owners.'),
  }),
})

/** `force` revokes the tokens of all owners and shows none. Throws ConflictError while the provider has tokens. */
export const deleteProvider = writeVerb<OAuthProvider>(async (ctx, raw, read) => {
  requireRole(ctx, 'admin')
  const { path, query } = parse(deleteInput, { query: {}, ...raw })
  rejectIfAny(query.force && raw.ifMatch ? [FORCE_WITH_VERSION] : [])
  const formerUsers = query.force
    ? await deleteTokensOfProvider(ctx, await providers.get(ctx, () => path.provider_id))
    : []
  return transaction(ctx, async (tx) => {
    // A concurrent call that stores a token locks this row too: its token is counted here, or it finds no provider.
    const provider = await lockProvider(tx, ctx, path.provider_id)
    const { id } = provider
    const users = await findProviderUsers(tx.sql, id)
    requireNoOtherWorkspace(ctx, provider, users)
    requireVersion(raw.ifMatch, 'OAuth provider', path.provider_id, provider)
    const tokens = users.reduce((sum, user) => sum + user.tokens, 0)
    if (tokens > 0)
      throw new ConflictError(
        `OAuth provider ID ${path.provider_id} still has ${tokens === 1 ? '1 token' : `${tokens} tokens`}, counted in ` +
          'all workspaces of the organization. Their owners have to delete them first; or delete the provider with ' +
          'force=true, which deletes and revokes its tokens, too.',
      )
    // The foreign key deletes its authorizations: wake the callers that wait for one.
    await tx.sql.$executeRaw`
      SELECT pg_notify(${OAUTH_CHANNEL}, id::text) FROM oauth_authorizations
      WHERE oauth_provider_id = ${id}::uuid AND finished_at IS NULL`
    await tx.sql.oAuthProvider.delete({ where: { id }, select: { id: true } })
    emitToWorkspaces(tx, ctx, { id, users: [...users, ...formerUsers], type: 'oauth_provider.deleted' })
    return read(tx, provider)
  })
})

/** `force` deletes tokens in many transactions first. A version mismatch found after that could not be undone. */
const FORCE_WITH_VERSION = {
  loc: ['query', 'force'],
  msg: 'Cannot be combined with an expected version: read the provider, then delete it with force and without a version.',
  type: 'value_error',
}

/** Deletes all tokens of a provider. Returns the workspaces that used it. Throws like `requireNoOtherWorkspace`. */
async function deleteTokensOfProvider(ctx: RequestContext, provider: OAuthProvider): Promise<ProviderUser[]> {
  const users = await findProviderUsers(ctx.db, provider.id)
  requireNoOtherWorkspace(ctx, provider, users)
  for (const { workspaceId, tokens } of users)
    if (tokens > 0) await deleteTokens(ctx, workspaceId, Prisma.sql`oauth_provider_id = ${provider.id}::uuid`)
  return users
}

/** A workspace with tokens of the provider or unfinished authorizations. */
export interface ProviderUser {
  workspaceId: string
  tokens: number
}

function findProviderUsers(sql: Sql, id: string): Promise<ProviderUser[]> {
  return sql.$queryRaw<ProviderUser[]>`
    SELECT workspace_id::text AS "workspaceId", count(token)::int AS tokens FROM (
      SELECT workspace_id, id AS token FROM oauth_tokens WHERE oauth_provider_id = ${id}::uuid
      UNION ALL
      SELECT workspace_id, NULL FROM oauth_authorizations WHERE oauth_provider_id = ${id}::uuid AND finished_at IS NULL
    ) AS uses GROUP BY workspace_id`
}

/** Throws ForbiddenError for a workspace credential if another workspace created the provider or has tokens of it. */
function requireNoOtherWorkspace(
  { actor, workspace }: ReadContext,
  { createdIn }: Pick<OAuthProvider, 'createdIn'>,
  users: readonly ProviderUser[],
): void {
  if (actor.workspaceId === null) return
  const others = users.some(({ workspaceId, tokens }) => tokens > 0 && workspaceId !== workspace.id)
  if (!others && (createdIn === null || createdIn === workspace.id)) return
  const why = others ? 'Other workspaces have tokens of this provider' : 'Another workspace created this provider'
  throw new ForbiddenError(
    `${why}, which belongs to the organization: it can be changed or deleted only with an organization-wide credential.`,
  )
}

/** Emits an event in the caller's workspace and in each workspace that uses the provider. */
function emitToWorkspaces(
  tx: Tx,
  ctx: ReadContext,
  { id, users, ...what }: { id: string; users: readonly ProviderUser[] } & Pick<NewEvent, 'type' | 'changed'>,
): void {
  for (const workspaceId of new Set([ctx.workspace.id, ...users.map((user) => user.workspaceId)]))
    tx.emit({ workspaceId, ...what, subjectId: id, actor: actorOf(ctx.actor) })
}
