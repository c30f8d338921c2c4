/** What a provider publishes of itself, looked for once and kept with it until its addresses change. */
import type { OAuthProvider } from '../../generated/prisma/client.ts'
import type { Core } from '../context.ts'
import type { ProviderAccess, PublishedEndpoints } from './client.ts'

/**
 * The issuer is not kept: whoever set the provider up has named no such thing, and call-backs would be refused for one
 * that was only found. Throws OAuthFailure when nobody could be asked; then it is looked for again the next time.
 */
export async function publishedBy(
  { db, oauth }: Pick<Core, 'db' | 'oauth'>,
  provider: OAuthProvider,
  access: ProviderAccess,
): Promise<Pick<PublishedEndpoints, 'revocationUrl' | 'userinfoUrl'>> {
  if (provider.metadataReadAt) return provider
  const { revocationUrl, userinfoUrl } = await oauth.published(access)
  // raw: that something was found out is no update of the provider
  await db.$executeRaw`
    UPDATE oauth_providers SET revocation_url = ${revocationUrl}, userinfo_url = ${userinfoUrl}, metadata_read_at = now()
    WHERE id = ${provider.id}::uuid AND metadata_read_at IS NULL AND auth_url = ${provider.authUrl} AND token_url = ${provider.tokenUrl}`
  return { revocationUrl, userinfoUrl }
}
