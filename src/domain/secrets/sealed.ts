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

/** Throws when the ring lacks the key, or the text or its place are not what was sealed. */
export function unseal(keyring: KeyRing, context: string, sealed: string): string {
  const [keyId, wrapped, body] = sealed.split('.')
  if (!keyId || !wrapped || !body) throw new Error('this is nothing sealed')
  const dataKey = keyring.unwrap(keyId, Buffer.from(wrapped, 'base64url'), context)
  return decrypt(dataKey, Buffer.from(body, 'base64url'), context).toString('utf8')
}
