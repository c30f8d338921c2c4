/** An OAuth provider: reads and lock, credentials, redirect URI, published endpoints, and advice about its errors. */
import { z } from 'zod'
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { seal, unseal } from '../../crypto/encrypted-value.ts'
import type { KeyRing } from '../../crypto/keyring.ts'
import { NotFoundError } from '../../errors/errors.ts'
import { uuid } from '../../parsing/fields.ts'
import { parse, type RawInput } from '../../parsing/parse.ts'
import type { ProviderAccess, PublishedEndpoints } from '../../ports/oauth-client.ts'
import { toDelete } from '../../repositories/locks.ts'
import type { Core, ReadContext, RequestContext, Tx } from '../../transaction/context.ts'
import type { Selection } from '../../transaction/once.ts'
import { resource } from '../../transaction/resource.ts'
import { type AuthMethod, type ProviderType, providerPath } from '../../values/oauth-provider.ts'

/** The tenant boundary of providers. Every query spreads it into its where-clause (docs/api-rules.md#who-is-calling). */
export function ownProviders({ workspace }: Pick<RequestContext, 'workspace'>): { organizationId: string } {
  return { organizationId: workspace.organizationId }
}

/** `name`: the `provider_id`, which is never a UUID, or the row's id. */
export function whereProviderName(name: string): { id: string } | { providerId: string } {
  const id = uuid.safeParse(name)
  return id.success ? { id: id.data } : { providerId: name }
}

/** A selection must leave out the client secret. */
export const providers = resource<OAuthProvider>({
  name: 'OAuth provider',
  table: (sql) => sql.oAuthProvider,
  visible: ownProviders,
  whereId: whereProviderName,
})

/** Reads a provider and locks it until the commit against transactions that store its tokens. Throws NotFoundError. */
export async function lockProvider(tx: Tx, ctx: ReadContext, name: string): Promise<OAuthProvider> {
  const where = { ...ownProviders(ctx), ...whereProviderName(name) }
  const found = await tx.sql.oAuthProvider.findFirst({ where })
  if (!found) throw new NotFoundError('OAuth provider', name)
  const { id } = found
  await tx.sql.$queryRaw`SELECT 1 FROM oauth_providers WHERE id = ${id}::uuid ${toDelete('oauth_providers')}`
  const locked = await tx.sql.oAuthProvider.findUnique({ where: { id } })
  if (!locked) throw new NotFoundError('OAuth provider', name)
  return locked
}

const sealContext = (id: string) => `oauth_providers.client_secret:${id}`

export function sealClientSecret(keyring: KeyRing, id: string, secret: string): string {
  return seal(keyring, sealContext(id), secret)
}

export function openProviderAccess(keyring: KeyRing, provider: OAuthProvider): ProviderAccess {
  return {
    providerType: provider.providerType as ProviderType | null,
    clientId: provider.clientId,
    clientSecret:
      provider.clientSecret === null ? null : unseal(keyring, sealContext(provider.id), provider.clientSecret),
    tokenEndpointAuthMethod: provider.tokenEndpointAuthMethod as AuthMethod,
    authUrl: provider.authUrl,
    tokenUrl: provider.tokenUrl,
    usesPkce: provider.usesPkce,
    issuer: provider.issuer,
    resource: provider.resource,
  }
}

/**
 * The redirect URI to register at the provider. It contains the `provider_id`, which admins know before they register a client.
 * For a client from dynamic registration it contains the row's id. No other organization has the same URI, so a callback can't be
 * mistaken for theirs (RFC 9700, 4.4.2.2).
 */
export function redirectUriOf(
  core: Pick<RequestContext, 'publicUrl'>,
  { id, providerId, isDynamicClient }: Pick<OAuthProvider, 'id' | 'providerId' | 'isDynamicClient'>,
): string {
  return `${core.publicUrl()}/v2/auth/callback/${encodeURIComponent(isDynamicClient ? id : providerId)}`
}

/** Compares two URLs by origin, as an approximation of "same issuer". A token is sent only to its issuer. */
export const sameOrigin = (a: string, b: string) => new URL(a).origin === new URL(b).origin

/** Sentence for admins; null: usable. A provider may lack the secret that its auth method needs, but can't exchange codes. */
export function describeMissingSecret(
  provider: Pick<OAuthProvider, 'providerId' | 'tokenEndpointAuthMethod' | 'clientSecret'>,
): string | null {
  const { providerId, tokenEndpointAuthMethod: method, clientSecret } = provider
  if (method === 'none' || clientSecret !== null) return null
  return (
    `The OAuth provider '${providerId}' has no client_secret, which its token_endpoint_auth_method ${method} needs. ` +
    'PATCH its client_secret, or its token_endpoint_auth_method to none.'
  )
}

/**
 * Reads the provider's published endpoints once and stores them until its URLs change. The issuer is not stored: it was
 * discovered, not configured, and callbacks without it would be refused. Throws OutboundFailure when the provider can't be reached;
 * the next call tries again.
 */
export async function publishedEndpoints(
  { db, oauth }: Pick<Core, 'db' | 'oauth'>,
  provider: OAuthProvider,
  access: ProviderAccess,
): Promise<Pick<PublishedEndpoints, 'revocationUrl' | 'userinfoUrl'>> {
  if (provider.metadataReadAt) return provider
  const { revocationUrl, userinfoUrl } = await oauth.published(access)
  // raw SQL, so updated_at does not change
  await db.$executeRaw`
    UPDATE oauth_providers SET revocation_url = ${revocationUrl}, userinfo_url = ${userinfoUrl}, metadata_read_at = now()
    WHERE id = ${provider.id}::uuid AND metadata_read_at IS NULL AND auth_url = ${provider.authUrl} AND token_url = ${provider.tokenUrl}`
  return { revocationUrl, userinfoUrl }
}

const HINTS = new Map<string | null, string>([
  ['invalid_client', '. An admin has to check the provider’s client_id and client_secret'],
  ['unauthorized_client', '. An admin has to check how the client is registered there'],
])

/** A clause to append to a sentence, without a full stop. Empty for other errors. */
export function adminHint(error: string | null): string {
  return HINTS.get(error) ?? ''
}

export type ReadableProvider = Omit<OAuthProvider, 'clientSecret'>

const WITHOUT_SECRET = { omit: { clientSecret: true } } as const

export const getInput = z.object({ path: providerPath })

export const getProvider = (
  ctx: RequestContext,
  raw: RawInput,
  query: Selection = WITHOUT_SECRET,
): Promise<OAuthProvider> => providers.get(ctx, () => parse(getInput, raw).path.provider_id, query)

export const listInput = z.object({})

export const listProviders = (ctx: RequestContext, raw: RawInput): Promise<ReadableProvider[]> =>
  providers.all(ctx, () => parse(listInput, raw), WITHOUT_SECRET)
