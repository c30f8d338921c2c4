/**
 * One secret value at rest, in one text column: encrypted under a random key of its own, which the key ring wraps
 * (contract 5). Bound to where it stands, so that a value that is copied to another row or column does not open there.
 */
import { randomBytes } from 'node:crypto'
import { decrypt, encrypt, type KeyRing } from './keyring.ts'

/**
 * `context`: where it is stored, `<table>.<column>:<id of the row>`. The result begins with the id of the ring's key.
 */
export function seal(keyring: KeyRing, context: string, plain: string): string {
  const dataKey = randomBytes(32)
  return [
    keyring.currentId,
    keyring.wrap(dataKey, context).toString('base64url'),
    encrypt(dataKey, Buffer.from(plain), context).toString('base64url'),
  ].join('.')
}

/** The same value, its key wrapped by the ring's first key; the value itself is not decrypted. Throws as `unseal`. */
export function reseal(keyring: KeyRing, context: string, sealed: string): string {
  const { dataKey, body } = open(keyring, context, sealed)
  return [keyring.currentId, keyring.wrap(dataKey, context).toString('base64url'), body].join('.')
}

/** Throws when the ring lacks the key, or the text or its place are not what was sealed. */
export function unseal(keyring: KeyRing, context: string, sealed: string): string {
  const { dataKey, body } = open(keyring, context, sealed)
  return decrypt(dataKey, Buffer.from(body, 'base64url'), context).toString('utf8')
}

function open(keyring: KeyRing, context: string, sealed: string): { dataKey: Buffer; body: string } {
  const [keyId, wrapped, body] = sealed.split('.')
  if (!keyId || !wrapped || !body) throw new Error('this is nothing sealed')
  return { dataKey: keyring.unwrap(keyId, Buffer.from(wrapped, 'base64url'), context), body }
}
