/**
 * Tells a provider that a token is of no use any more (RFC 7009). What it takes is written down in the transaction that
 * deletes the token, so it is told even when this server dies right after the commit. Such a row needs nothing but
 * itself: the token is gone, and the provider may be by then.
 */
import { randomUUID } from 'node:crypto'
import type { OAuthProvider } from '../../generated/prisma/client.ts'
import type { Tx } from '../context.ts'
import type { ProviderAccess } from '../providers/client.ts'
import { accessOf } from '../providers/find.ts'
import { sameOrigin } from '../providers/rules.ts'
import type { KeyRing } from '../secrets/keyring.ts'
import { seal, unseal } from '../secrets/sealed.ts'
import type { TokenContent } from './token.ts'

/** A row of `token_revocations` that somebody holds. `tries` is its fence: it grows with every holder. */
export interface Revocation {
  id: string
  sealed: string
  tries: number
}

/** What is in it. */
export interface RevocationContent {
  access: ProviderAccess
  /** where tokens are revoked; null: nobody has looked yet */
  revocationUrl: string | null
  accessToken: string
  refreshToken: string | null
  /** for the log: the provider's `provider_id`, and the id that the token had */
  providerId: string
  tokenId: string
}

/**
 * seconds a holder has; longer than anybody waits for a provider. If the holder has died, it is somebody else's turn
 * then
 */
export const HELD_SECONDS = 60

const placeOf = (id: string) => `token_revocations.sealed:${id}`

/**
 * Writes down what has to be revoked, in the transaction that ends the token, or that finds it gone. The caller is its
 * first holder: it calls `revokeNow` (revoke.ts) after the commit, or leaves it to the job. Null: there is nobody to
 * tell. That is so where the provider publishes that it revokes nothing, and where its address has changed since it
 * issued the token (`token.tokenUrl`): nobody but the issuer is ever shown a token.
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
  const sealed = sealContent(keyring, id, {
    access: accessOf(keyring, provider),
    revocationUrl: provider.metadataReadAt ? provider.revocationUrl : null,
    accessToken: content.accessToken,
    refreshToken: content.refreshToken,
    providerId: provider.providerId,
    tokenId: token.id,
  })
  await tx.sql.$executeRaw`
    INSERT INTO token_revocations (id, sealed, tries, not_before)
    VALUES (${id}::uuid, ${sealed}, 1, clock_timestamp() + make_interval(secs => ${HELD_SECONDS}))`
  return { id, sealed, tries: 1 }
}

function sealContent(keyring: KeyRing, id: string, content: RevocationContent): string {
  return seal(keyring, placeOf(id), JSON.stringify(content))
}

export function openContent(keyring: KeyRing, { id, sealed }: Pick<Revocation, 'id' | 'sealed'>): RevocationContent {
  return JSON.parse(unseal(keyring, placeOf(id), sealed)) as RevocationContent
}
