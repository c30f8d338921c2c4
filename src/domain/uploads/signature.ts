/** The signature in the address of an upload: whoever has it may PUT this one object, until then. */
import type { KeyRing } from '../secrets/keyring.ts'

const PURPOSE = 'upload'
const text = (objectPath: string, expires: number) => `PUT\n${objectPath}\n${expires}`

/** `expires`: seconds since 1970 */
export function signUpload(keyring: KeyRing, objectPath: string, expires: number): string {
  return keyring.sign(PURPOSE, text(objectPath, expires))
}

export function isSigned(keyring: KeyRing, objectPath: string, expires: number, signature: string): boolean {
  return keyring.verify(PURPOSE, text(objectPath, expires), signature)
}
