/** Fingerprints show whether two revisions have the same value under a name, without revealing it (README.md). */
import type { SecretSet } from '../../generated/prisma/client.ts'
import type { KeyRing } from '../crypto/keyring.ts'
import { openSecrets } from './secret-set.ts'

export interface SecretFingerprint {
  name: string
  /** 16 hex digits */
  fingerprint: string
}

const FINGERPRINT_BYTES = 8

/** In the set's order. Throws if the key ring lacks the set's key. */
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
