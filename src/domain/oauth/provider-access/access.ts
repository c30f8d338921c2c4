/**
 * What it takes to speak to an OAuth provider: its credentials, decrypted; where it sends people back to; what it
 * publishes of itself; and what an admin can do about an error of it.
 */
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { seal, unseal } from '../../crypto/encrypted-value.ts'
import type { KeyRing } from '../../crypto/keyring.ts'
import type { ProviderAccess, PublishedEndpoints } from '../../ports/oauth-client.ts'
import type { Core, RequestContext } from '../../transaction/context.ts'
import type { AuthMethod, ProviderType } from '../../values/oauth-provider.ts'

const sealContext = (id: string) => `oauth_providers.client_secret:${id}`

/** `id`: of the provider's row. */
export function sealClientSecret(keyring: KeyRing, id: string, secret: string): string {
  return seal(keyring, sealContext(id), secret)
}

/** What a call at the provider needs, decrypted. */
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
 * The redirect URI, as it has to be registered at the provider. It contains the `provider_id`, which admins know before
 * they register anything. For a client that this server registers itself it contains the row's id instead: no other
 * organization can have the same one, so a callback can't be mistaken for one of theirs (RFC 9700, 4.4.2.2).
 */
export function redirectUriOf(
  core: Pick<RequestContext, 'publicUrl'>,
  { id, providerId, isDynamicClient }: Pick<OAuthProvider, 'id' | 'providerId' | 'isDynamicClient'>,
): string {
  return `${core.publicUrl()}/v2/auth/callback/${encodeURIComponent(isDynamicClient ? id : providerId)}`
}

/** Whether two URLs are of one issuer, as far as addresses can tell: tokens are only ever shown to who issued them. */
export const sameOrigin = (a: string, b: string) => new URL(a).origin === new URL(b).origin

/**
 * Tells the admin, in a sentence, that the provider can't be used without its secret; null: it can. A provider may be
 * created without the secret that its auth method uses (docs/oauth.md#rules), but then no code can be exchanged.
 */
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
 * The endpoints that a provider publishes. They are looked for once, and stored until its addresses change. The issuer
 * is not stored: it was not configured, and callbacks would be refused for not naming one that was merely discovered.
 * Throws OAuthFailure when the provider could not be asked; the next call tries again.
 */
export async function publishedEndpoints(
  { db, oauth }: Pick<Core, 'db' | 'oauth'>,
  provider: OAuthProvider,
  access: ProviderAccess,
): Promise<Pick<PublishedEndpoints, 'revocationUrl' | 'userinfoUrl'>> {
  if (provider.metadataReadAt) return provider
  const { revocationUrl, userinfoUrl } = await oauth.published(access)
  // raw SQL: finding metadata must not change updated_at
  await db.$executeRaw`
    UPDATE oauth_providers SET revocation_url = ${revocationUrl}, userinfo_url = ${userinfoUrl}, metadata_read_at = now()
    WHERE id = ${provider.id}::uuid AND metadata_read_at IS NULL AND auth_url = ${provider.authUrl} AND token_url = ${provider.tokenUrl}`
  return { revocationUrl, userinfoUrl }
}

/** What an admin can do about an error code of a provider. */
const HINTS = new Map<string | null, string>([
  ['invalid_client', '. An admin has to check the provider’s client_id and client_secret'],
  ['unauthorized_client', '. An admin has to check how the client is registered there'],
])

/** A clause to append to a sentence, without a full stop at the end; empty for other errors. */
export function adminHint(error: string | null): string {
  return HINTS.get(error) ?? ''
}
