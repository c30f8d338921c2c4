/** The PKCE code verifier at rest. Who has it and the code can use the code, so it is sealed like a token. */
import type { KeyRing } from '../secrets/keyring.ts'
import { seal, unseal } from '../secrets/sealed.ts'

/** `id`: of the authorization. */
const placeOf = (id: string) => `oauth_authorizations.code_verifier:${id}`

export function sealVerifier(keyring: KeyRing, id: string, verifier: string): string {
  return seal(keyring, placeOf(id), verifier)
}

export function openVerifier(keyring: KeyRing, id: string, sealed: string): string {
  return unseal(keyring, placeOf(id), sealed)
}
