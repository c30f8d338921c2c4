/** The queue of token revocations (RFC 7009). A row contains all data, because token and provider may be deleted by then. */
import { randomUUID } from 'node:crypto'
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { seal, unseal } from '../../crypto/encrypted-value.ts'
import type { KeyRing } from '../../crypto/keyring.ts'
import type { ProviderAccess } from '../../ports/oauth-client.ts'
import type { Tx } from '../../transaction/context.ts'
import { openProviderAccess, sameOrigin } from '../provider-access/access.ts'
import type { TokenContent } from './token.ts'

/** A leased row of `token_revocations`. `tries` is the fencing token: each lease increments it. */
export interface Revocation {
  id: string
  sealed: string
  tries: number
}

export interface RevocationContent {
  access: ProviderAccess
  /** null: the provider's metadata was not read yet */
  revocationUrl: string | null
  accessToken: string
  refreshToken: string | null
  /** for the log: the provider's `provider_id` and the former id of the token */
  providerId: string
  tokenId: string
}

/** Longer than any call waits for a provider. */
export const LEASE_SECONDS = 60

const sealContext = (id: string) => `token_revocations.sealed:${id}`

/**
 * The caller holds the first lease: it calls `revokeNow` after the commit, or leaves the row to the job. Null: the provider has
 * no revocation endpoint, or moved to another origin than the token's issuer.
 */
export async function queueRevocation(
  tx: Pick<Tx, 'sql'>,
  keyring: KeyRing,
  provider: OAuthProvider,
  token: { id: string; tokenUrl: string },
  content: TokenContent,
): Promise<Revocation | null> {
  if (!sameOrigin(provider.tokenUrl, token.tokenUrl)) return null
  if (provider.metadataReadAt && !provider.revocationUrl) return null
  const id = randomUUID()
  const revocation: RevocationContent = {
    access: openProviderAccess(keyring, provider),
    revocationUrl: provider.metadataReadAt ? provider.revocationUrl : null,
    accessToken: content.accessToken,
    refreshToken: content.refreshToken,
    providerId: provider.providerId,
    tokenId: token.id,
  }
  const sealed = seal(keyring, sealContext(id), JSON.stringify(revocation))
  await tx.sql.$executeRaw`
    INSERT INTO token_revocations (id, sealed, tries, not_before)
    VALUES (${id}::uuid, ${sealed}, 1, clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}))`
  return { id, sealed, tries: 1 }
}

export function openRevocation(keyring: KeyRing, { id, sealed }: Pick<Revocation, 'id' | 'sealed'>): RevocationContent {
  return JSON.parse(unseal(keyring, sealContext(id), sealed)) as RevocationContent
}
