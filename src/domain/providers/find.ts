/** Looks an OAuth provider of an organization up, and opens what it takes to speak to it. */
import type { OAuthProvider } from '../../generated/prisma/client.ts'
import type { RequestContext, Sql, Tx } from '../context.ts'
import { NotFoundError } from '../errors.ts'
import { uuid } from '../fields.ts'
import type { KeyRing } from '../secrets/keyring.ts'
import { seal, unseal } from '../secrets/sealed.ts'
import type { ProviderAccess } from './client.ts'
import type { AuthMethod, ProviderType } from './schemas.ts'

/** The boundary of providers: every look-up of them spreads this into its where-clause (contract 1). */
export function ownProviders({ workspace }: Pick<RequestContext, 'workspace'>): { organizationId: string } {
  return { organizationId: workspace.organizationId }
}

/** The one of this name: its `provider_id`, or the id of its row; a `provider_id` is never a UUID. */
export function namedProvider(ctx: Pick<RequestContext, 'workspace'>, name: string) {
  const id = uuid.safeParse(name)
  return { ...ownProviders(ctx), ...(id.success ? { id: id.data } : { providerId: name }) }
}

/** `name`: as above. Throws NotFoundError. */
export async function requireProvider(
  ctx: Pick<RequestContext, 'workspace'>,
  sql: Sql,
  name: string,
): Promise<OAuthProvider> {
  const found = await sql.oAuthProvider.findFirst({ where: namedProvider(ctx, name) })
  if (!found) throw new NotFoundError('OAuth provider', name)
  return found
}

/**
 * Locks it until the commit, and reads it then. Waits for those who are storing a token of it, and they for the
 * caller. Throws NotFoundError.
 */
export async function lockProvider(tx: Tx, ctx: RequestContext, name: string): Promise<OAuthProvider> {
  const { id } = await requireProvider(ctx, tx.sql, name)
  await tx.sql.$queryRaw`SELECT 1 FROM oauth_providers WHERE id = ${id}::uuid FOR UPDATE`
  const locked = await tx.sql.oAuthProvider.findUnique({ where: { id } })
  if (!locked) throw new NotFoundError('OAuth provider', name)
  return locked
}

const placeOfSecret = (id: string) => `oauth_providers.client_secret:${id}`

/** `id`: of the provider's row. */
export function sealClientSecret(keyring: KeyRing, id: string, secret: string): string {
  return seal(keyring, placeOfSecret(id), secret)
}

/** What a call at the provider needs, decrypted. */
export function accessOf(keyring: KeyRing, provider: OAuthProvider): ProviderAccess {
  return {
    providerType: provider.providerType as ProviderType | null,
    clientId: provider.clientId,
    clientSecret:
      provider.clientSecret === null ? null : unseal(keyring, placeOfSecret(provider.id), provider.clientSecret),
    tokenEndpointAuthMethod: provider.tokenEndpointAuthMethod as AuthMethod,
    authUrl: provider.authUrl,
    tokenUrl: provider.tokenUrl,
    usesPkce: provider.usesPkce,
    issuer: provider.issuer,
    resource: provider.resource,
  }
}

/**
 * Where the provider sends people back to: what has to be registered there. By the name that was known before; but
 * what this server registers itself has the id in it, which no other organization can have: a call-back can't be that
 * of a client of theirs (RFC 9700, 4.4.2.2).
 */
export function redirectUriOf(
  core: Pick<RequestContext, 'publicUrl'>,
  { id, providerId, isDynamicClient }: Pick<OAuthProvider, 'id' | 'providerId' | 'isDynamicClient'>,
): string {
  return `${core.publicUrl()}/v2/auth/callback/${encodeURIComponent(isDynamicClient ? id : providerId)}`
}
