/** The signature in an upload URL. It allows a PUT of one object until the URL expires. */
import type { KeyRing } from '../../crypto/keyring.ts'

const PURPOSE = 'upload'
const signedText = (objectPath: string, expires: number) => `PUT\n${objectPath}\n${expires}`

/** `expires`: seconds since 1970 */
export function signUpload(keyring: KeyRing, objectPath: string, expires: number): string {
  return keyring.sign(PURPOSE, signedText(objectPath, expires))
}

export function isSigned(keyring: KeyRing, objectPath: string, expires: number, signature: string): boolean {
  return keyring.verify(PURPOSE, signedText(objectPath, expires), signature)
}
