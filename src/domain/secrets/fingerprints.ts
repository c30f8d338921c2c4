/**
 * Fingerprints of secrets (docs/deployments.md#secrets): they say whether two revisions of a deployment have the same value under a
 * name, and nothing else. An HMAC with a key that is derived from the key ring for this one deployment: nobody without the ring can
 * try values, and the same value has another fingerprint under each name and in each deployment.
 *
 * They are made when they are read, and stored nowhere. So they need no rotation of their own: with another first key of the ring all
 * of them are other ones at once, and whoever compares does so within one answer.
 */
import type { SecretSet } from '../../generated/prisma/client.ts'
import type { KeyRing } from '../crypto/keyring.ts'
import { openSecrets } from './secret-set.ts'

export interface SecretFingerprint {
  name: string
  /** 16 hex digits */
  fingerprint: string
}

const FINGERPRINT_BYTES = 8

/** Of all secrets of a set, in its order. Throws when the ring lacks the key of the set. */
export function fingerprintsOf(keyring: KeyRing, set: SecretSet | null): SecretFingerprint[] {
  if (!set || set.names.length === 0) return []
  const sign = keyring.signer(`fingerprints of secrets of ${set.deploymentId}`)
  return openSecrets(keyring, set).map(({ name, value }) => ({
    name,
    fingerprint: sign(JSON.stringify([name, value]))
      .subarray(0, FINGERPRINT_BYTES)
      .toString('hex'),
  }))
}
