/**
 * The queue of token revocations (RFC 7009). A row is inserted by the transaction that deletes the token, so it
 * is carried out even if this server dies right after the commit. It contains all that is needed, since the token is deleted
 * and the provider may be, too.
 */
import { randomUUID } from 'node:crypto'
import type { OAuthProvider } from '../../../generated/prisma/client.ts'
import { seal, unseal } from '../../crypto/encrypted-value.ts'
import type { KeyRing } from '../../crypto/keyring.ts'
import type { ProviderAccess } from '../../ports/oauth-client.ts'
import type { Tx } from '../../transaction/context.ts'
import { openProviderAccess, sameOrigin } from '../provider-access/access.ts'
import type { TokenContent } from './token.ts'

/** A leased row of `token_revocations`. `tries` is the fencing token: it grows with every lease. */
export interface Revocation {
  id: string
  sealed: string
  tries: number
}

/** The sealed content of a row. */
export interface RevocationContent {
  access: ProviderAccess
  /** null: the provider's metadata was not read yet */
  revocationUrl: string | null
  accessToken: string
  refreshToken: string | null
  /** for the log: the provider's `provider_id`, and the id that the token had */
  providerId: string
  tokenId: string
}

/** seconds; longer than anybody waits for a provider */
export const LEASE_SECONDS = 60

const sealContext = (id: string) => `token_revocations.sealed:${id}`

/**
 * Queues the revocation of a token in the transaction that deletes it. The caller has the first lease: it calls
 * `revokeNow` (revoke.ts) after the commit, or leaves it to the job. Null: nothing to do, since the provider publishes
 * no revocation endpoint, or its address has changed since it issued the token (`token.tokenUrl`): a token is shown to
 * nobody but its issuer.
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
